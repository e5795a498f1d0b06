"""What a handler can end with beside a plain result."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Skip(Exception):
    """Raised by a handler that finds nothing to do: the job ends well, as skipped."""


class Partial(Generic[T]):
    """Returned by a handler that did some of its work: the job ends with this result, marked as partial."""

    def __init__(self, result: T, reason: str | None = None) -> None:
        self.result = result
        self.reason = reason
