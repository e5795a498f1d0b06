"""Ends leases ahead of their time, beside the worker's other work."""

from __future__ import annotations

import asyncio

from holdfast.observe.logs import get_logger
from holdfast.store.port import Lease, Store

log = get_logger("holdfast.worker")


class LettingGo:
    """Who takes a job over need not wait for its lease to run out."""

    def __init__(self, store: Store, owner: str) -> None:
        self._store = store
        self._owner = owner
        self._under_way: set[asyncio.Task[None]] = set()

    def end(self, lease: Lease) -> None:
        ending = asyncio.get_running_loop().create_task(self._end(lease))
        self._under_way.add(ending)
        ending.add_done_callback(self._under_way.discard)

    async def _end(self, lease: Lease) -> None:
        try:
            await self._store.jobs.let_go(self._owner, [lease])
        except Exception as error:  # the database is away: the lease runs out by itself
            log.warning("lease_not_let_go", job_id=lease.job_id, error=str(error))

    async def done(self) -> None:
        await asyncio.gather(*self._under_way)
