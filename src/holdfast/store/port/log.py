"""The log, followed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from holdfast.kernel.event import Event


class Feed(Protocol):
    """Follows the log in feed order without missing an event that commits late."""

    position: int
    """Everything up to here has been handed out; a later reader may start from it."""

    async def next(self, limit: int = 1000) -> list[Event]:
        """The next events, or none when there are none that are safe to pass on yet."""
        ...


class Origin(NamedTuple):
    """What of a job never changes, and its events do not say."""

    lifecycle: str
    task: str
    queue: str
    correlation_id: str | None
    trace_id: str | None


class Log(Protocol):
    """Events in feed order, for whoever follows them."""

    def feed(self, after: int = 0) -> Feed:
        """A reader of the log that starts behind the position `after`."""
        ...

    async def end(self) -> int:
        """A position that nothing commits behind any more, as near to the end as can be told at once."""
        ...

    async def origins(self, job_ids: Sequence[str]) -> dict[str, Origin]:
        """By job id; those that were pruned are missing."""
        ...
