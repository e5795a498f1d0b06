"""How the jobs of a system are shown and explained, where that differs from how all jobs are."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from holdfast import catalog
from holdfast.kernel.event import Event
from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.store.port import Store


class Words(NamedTuple):
    """What a system knows of why a job is where it is. What it leaves out is said as of any job."""

    sentence: str | None = None
    helps: str | None = None
    """The command that helps: beside the sentence, and where the job ended badly or was cancelled."""
    waits_for: str | None = None
    """What a job that waits, waits for."""


NO_WORDS = Words()


class Views:
    """A system brings an instance of a subclass; whatever that leaves out is as for all jobs."""

    def fields(self, job: Job, table: Lifecycle) -> dict[str, Any]:
        """More fields of the job, or the usual ones under the names that its lifecycle's own document gives them."""
        return {}

    async def words(self, store: Store, job: Job, last: Event | None) -> Words:
        """Why the job is where it is, for `explain`. `last` is its last event."""
        return NO_WORDS

    async def graph(self, store: Store, job: Job) -> dict[str, Any] | None:
        """The graph that the job is, or is a part of; None where that is its family."""
        return None

    async def result(self, store: Store, job: Job, result: Any) -> Any:
        """What came out of a job that ended well; `result` is what stands beside its outcome."""
        return result


@cache
def views_of(lifecycle: str) -> Views:
    """The views of the system whose jobs follow this lifecycle."""
    system = catalog.system_of(lifecycle)
    found = [] if system is None else catalog.brought("views", of=system)
    return found[0] if found else Views()
