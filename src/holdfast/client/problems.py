"""From a problem that an API answers to the error that the same call raises on a database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from holdfast.kernel.errors import (
    BusyError,
    DuplicateKeyError,
    HoldfastError,
    NotAllowedError,
    NotFoundError,
    PayloadError,
    StoreLostError,
)
from holdfast.tasks.signature import ArgumentsError

E = TypeVar("E", bound=HoldfastError)
AGAIN = BusyError().remedy


class ApiError(HoldfastError):
    """The API refused a request. `code` says why, `status` is that of the answer."""

    def __init__(
        self, message: str, *, code: str, status: int, field: str | None = None, remedy: str | None = None
    ) -> None:
        self.code, self.status = code, status
        super().__init__(message, field=field, remedy=remedy)


class ApiLostError(StoreLostError):
    """The API cannot be reached. A change that was under way took effect as a whole or not at all."""

    def __init__(self, message: str) -> None:
        HoldfastError.__init__(self, message, remedy="check that it runs, and the address; then repeat the call")


def error_of(status: int, problem: Mapping[str, Any]) -> HoldfastError:
    code = str(problem.get("code", "unknown"))
    field = problem.get("field")
    remedy = problem.get("remedy")
    detail = str(problem.get("detail") or problem.get("title") or f"status {status}")
    # An error's text is its message, and behind it the remedy.
    message = detail.removesuffix(f"; {remedy}") if remedy else detail

    def facts(*names: str) -> dict[str, str]:
        return {name: str(problem.get(name, "")) for name in names}

    match code:
        case "not_found" if field is not None:
            return _made(NotFoundError, message, field, remedy, what=problem.get("what", field), **facts("name"))
        case "conflict_state" if field == "command":
            allowed = tuple(problem.get("allowed") or ())
            return _made(
                NotAllowedError, message, field, remedy, allowed=allowed, **facts("lifecycle", "state", "command")
            )
        case "duplicate_key":
            return _made(DuplicateKeyError, message, field, remedy, **facts("scope", "key", "job_id"))
        case "conflict_state" if remedy == AGAIN:
            return BusyError(message)
        case "invalid_field" if str(field).startswith(("args", "input")):
            return _made(ArgumentsError, message, str(field).removeprefix("args.").removeprefix("input."), remedy)
        case "invalid_field" if field is not None:
            return _made(PayloadError, message, field, remedy or "see the field", problem=message)
        case _:
            return ApiError(message, code=code, status=status, field=field, remedy=remedy)


def _made(kind: type[E], message: str, field: str | None, remedy: str | None, **more: Any) -> E:
    """An error as its own constructor would leave it, from what was told of it."""
    made = kind.__new__(kind)
    HoldfastError.__init__(made, message, field=field, remedy=remedy)
    made.__dict__.update(more)
    return made
