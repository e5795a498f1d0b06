"""A job as its users see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.kernel.job import Job
from holdfast.kernel.state import State
from holdfast.runtime.commands import table_of

if TYPE_CHECKING:
    from holdfast.store.sql_store import SqlStore


class ShownJob(Job):
    """A job's row, its state by its lifecycle's own name: `job.state.canonical` is what all lifecycles call it."""

    __slots__ = ()
    if TYPE_CHECKING:

        @property
        def state(self) -> State: ...


async def shown(store: SqlStore, job: Job) -> ShownJob:
    """The job with its state as its lifecycle spells it, whether that is declared here or only kept in the database."""
    return labelled(job, (await table_of(store, job)).state(job.state))


def labelled(job: Job, state: State) -> ShownJob:
    return ShownJob._make(job._replace(state=state))
