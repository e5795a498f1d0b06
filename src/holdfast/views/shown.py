"""A job as its users see it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from holdfast.kernel.job import Job
from holdfast.kernel.state import State

if TYPE_CHECKING:
    from holdfast.store.port import Store


class ShownJob(Job):
    """A job's row, its state by its lifecycle's own name, and beside the row what is read from it: `args`, `result` and
    `error` as values, times as datetimes in UTC. The names are those of the API.
    """

    __slots__ = ()
    if TYPE_CHECKING:

        @property
        def state(self) -> State: ...

    @property
    def canonical_state(self) -> str:
        """What all lifecycles call its state."""
        return self.state.canonical

    @property
    def args(self) -> dict[str, Any]:
        """What it was submitted with, by name; empty once that was purged."""
        return json.loads(self.payload) if self.payload else {}

    @property
    def result(self) -> Any:
        """What it returned, as JSON has it; `handle.result()` gives it by the task's own types."""
        return self._ended_with("result")

    @property
    def error(self) -> dict[str, Any] | None:
        """Why it did not succeed: code, class, message, context and stage."""
        error: dict[str, Any] | None = self._ended_with("error")
        return error

    def _ended_with(self, name: str) -> Any:
        return json.loads(self.outcome).get(name) if self.outcome else None

    @property
    def max_attempts(self) -> int:
        return self.max_tries

    @property
    def lease(self) -> dict[str, Any] | None:
        """Who holds it, and until when."""
        if self.lease_owner is None:
            return None
        return {"owner": self.lease_owner, "until": _moment(self.lease_until_ms)}

    @property
    def created_at(self) -> datetime:
        return datetime.fromtimestamp(self.created_at_ms / 1_000, UTC)

    @property
    def started_at(self) -> datetime | None:
        return _moment(self.started_at_ms)

    @property
    def finished_at(self) -> datetime | None:
        return _moment(self.finished_at_ms)

    @property
    def due_at(self) -> datetime | None:
        return _moment(self.due_at_ms)


def _moment(at_ms: int | None) -> datetime | None:
    """None also for what is beyond any calendar, as "never" is sometimes written."""
    try:
        return None if at_ms is None else datetime.fromtimestamp(at_ms / 1_000, UTC)
    except (ValueError, OverflowError, OSError):
        return None


async def shown(store: Store, job: Job) -> ShownJob:
    """The job with its state as its lifecycle spells it, whether that is declared here or only kept in the database."""
    return labelled(job, (await store.table(job.lifecycle)).state(job.state))


def labelled(job: Job, state: State) -> ShownJob:
    return ShownJob._make(job._replace(state=state))
