"""What a check is given: two stores on one fresh database, and few words to speak with them."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any, Protocol, TypeVar

from holdfast.audit.findings import Findings
from holdfast.audit.jobs import check_jobs
from holdfast.audit.seals import check_seals
from holdfast.kernel import settle
from holdfast.kernel.job import Failure, Job, Spec
from holdfast.kernel.move import Change
from holdfast.kernel.outcome import Done, Outcome
from holdfast.store.port import Applied, Signal, Store

T = TypeVar("T")
E = TypeVar("E", bound=Exception)
WORKER, RIVAL = "worker-1", "worker-2"
NOBODY = "01900000-0000-7000-8000-ffffffffffff"
LEASE_MS = 60_000
RACES = 5
"""So often two begin at once what one of them may do."""
FAILURE = Failure("broken", "permanent", "no good", {})

_numbers = itertools.count(1)


class Database(Protocol):
    """A database of the implementation under test, with nothing in it at first."""

    def open(self) -> AbstractAsyncContextManager[Store]:
        """One more store on it, as another process opens it: the tables are made, and its time is what `pass_ms` moves.

        Closed on leaving, even where a check has closed it already.
        """
        ...

    def pass_ms(self, ms: int) -> None:
        """Let time pass for every store on it; else it stands still."""
        ...

    def late(self, specs: Sequence[Spec]) -> AbstractAsyncContextManager[None] | None:
        """Submit these on entering and commit on leaving; None where nobody else could write meanwhile."""
        ...


class Pair:
    """Two stores on one database, as two processes have them."""

    def __init__(self, database: Database, store: Store, other: Store) -> None:
        self.database = database
        self.store = store
        self.other = other

    def spec(self, lifecycle: str = "durable", **fields: Any) -> Spec:
        """Ids grow, as those of the engine do."""
        given: dict[str, Any] = {"task": "task", "max_tries": 9, "lease_ms": LEASE_MS} | fields
        return Spec(f"01900000-0000-7000-8000-{next(_numbers):012x}", lifecycle, **given)

    async def submit(self, lifecycle: str = "durable", **fields: Any) -> Job:
        [answer] = await self.store.jobs.submit([self.spec(lifecycle, **fields)])
        return await self.job(answer.job_id)

    async def running(self, lifecycle: str = "durable", owner: str = WORKER, **fields: Any) -> Job:
        """A job that an owner works on: nothing else may wait in its queue."""
        job = await self.submit(lifecycle, **fields)
        [taken] = await self.store.jobs.claim([job.queue], 9, owner)
        assert taken.id == job.id, "a claim takes another job than the one that waits"
        return taken

    async def both(self, call: Callable[[Store], Awaitable[T]]) -> list[T]:
        """What each store answers when both are called at once."""
        return await together(call(self.store), call(self.other))

    async def job(self, job_id: str) -> Job:
        job = await self.store.reads.get(job_id)
        assert job is not None, f"job {job_id} is gone"
        return job

    async def claimed(self, limit: int = 100, owner: str = WORKER, queue: str = "default") -> list[str]:
        return [job.id for job in await self.store.jobs.claim([queue], limit, owner)]

    async def end(
        self, *jobs: Job, outcome: Outcome | None = None, words: Sequence[Signal] = (), store: Store | None = None
    ) -> Applied:
        """What the worker writes when handlers have ended, in one batch."""
        table = self.store.tables[jobs[0].lifecycle]
        settled = [settle.settle(table, job, outcome or Done("1")) for job in jobs]
        change = Change(table, settled[0].path, WORKER, [each.move for each in settled], WORKER)
        return await (store or self.store).jobs.apply([change], words)

    async def lose(self, *jobs: Job) -> None:
        """What the engine does about leases that ran out."""
        for job in jobs:
            path, move = settle.lost(self.store.tables[job.lifecycle], job)
            applied = await self.store.jobs.apply([Change(self.store.tables[job.lifecycle], path, "reaper", [move])])
            assert applied.refused == [], f"a lost job stays where it is: {applied.refused}"

    async def dump(self, *jobs: Job) -> list[Any]:
        """All that is kept of jobs."""
        reads = self.store.reads
        return [(await reads.get(job.id), await reads.events(job.id), await reads.signals(job.id)) for job in jobs]

    async def audited(self) -> None:
        """Every invariant over every job, flow and seal."""
        findings = Findings(9)
        await check_jobs(self.store.reads, findings, lambda _: None)
        await check_seals(self.store.reads, findings, lambda _: None)
        assert not findings.kept, f"the audit finds {findings.kept}"


Check = Callable[[Pair], Awaitable[None]]


@asynccontextmanager
async def pair_of(database: Database) -> AsyncIterator[Pair]:
    """Both stores; what the check leaves behind has to stand the audit."""
    async with database.open() as store, database.open() as other:
        pair = Pair(database, store, other)
        yield pair
        await pair.audited()


async def together(*calls: Awaitable[T]) -> list[T]:
    """What all answer that are made at once. Where one fails, none is left under way."""
    answers = await asyncio.gather(*calls, return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return [answer for answer in answers if not isinstance(answer, BaseException)]


@contextmanager
def refused(kind: type[E]) -> Iterator[list[E]]:
    """What is tried inside has to be refused so; the error is in the list afterwards."""
    caught: list[E] = []
    try:
        yield caught
    except kind as error:
        caught.append(error)
    assert caught, f"it should have been refused with {kind.__name__}"
