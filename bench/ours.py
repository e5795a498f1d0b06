"""Holdfast, through its store's port: what a worker without handlers costs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from bench.contender import LEASE_MS, OWNER, PAYLOAD, RESULT
from bench.overlap import overlapped
from bench.site import Site
from holdfast.kernel.durable import DURABLE
from holdfast.kernel.job import DEFAULT_QUEUE, Job, Spec
from holdfast.kernel.lifecycle import Command
from holdfast.kernel.move import Change, Move
from holdfast.kernel.state import Canonical
from holdfast.store.postgres.driver import open_postgres
from holdfast.store.sqlite.driver import open_sqlite

SUCCEED = (DURABLE.row(Canonical.RUNNING, Command.SUCCEED),)
NOBODY = "00000000-0000-0000-0000-000000000000"


class Ours:
    name = "holdfast"

    def __init__(self, site: Site, *, result: bool) -> None:
        if site.store == "sqlite":
            self.store = open_sqlite(site.address, synchronous=site.synchronous)
        else:
            self.store = open_postgres(site.address)
        self._outcome = f'{{"result":{RESULT}}}' if result else None

    async def open(self) -> None:
        # A change that is refused opens a connection and writes nothing; two at once open both.
        changes = [[Change(DURABLE, SUCCEED, OWNER, [Move(NOBODY, 1)], OWNER)] for _ in range(2)]
        await asyncio.gather(*(self.store.jobs.apply(change) for change in changes))

    def prepare(self, ids: Sequence[str]) -> list[Spec]:
        return [Spec(job_id, DURABLE.name, "noop", PAYLOAD, lease_ms=LEASE_MS) for job_id in ids]

    async def submit(self, batch: list[Spec]) -> None:
        await self.store.jobs.submit(batch)

    async def claim(self, limit: int) -> Sequence[Job]:
        return await self.store.jobs.claim([DEFAULT_QUEUE], limit, OWNER)

    async def finish(self, taken: Sequence[Job]) -> None:
        outcome = self._outcome
        moves = [Move(job.id, job.attempt, outcome=outcome) for job in taken]
        applied = await self.store.jobs.apply([Change(DURABLE, SUCCEED, OWNER, moves, OWNER)])
        assert not applied.refused, applied.refused[:3]

    async def drain(self, batch: int, jobs: int, until_s: float) -> int:
        return await overlapped(self, batch, jobs, until_s)

    async def close(self) -> None:
        await self.store.close()
