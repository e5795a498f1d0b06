"""The reaper as a test needs it: every lost lease is settled as the kernel says."""

import asyncio

from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.move import Change
from holdfast.kernel.settle import lost
from holdfast.store.sql_store import SqlStore


async def reap(store: SqlStore, tables: dict[str, Lifecycle], limit: int = 500) -> int:
    """Settle what is lost now; how many jobs moved. A rival that was faster is no fault."""
    groups: dict[object, Change] = {}
    for job in await store.lost(limit):
        table = tables[job.lifecycle]
        settled = lost(table, job)
        change = groups.setdefault(settled.path, Change(table, settled.path, "reaper", []))
        change.moves.append(settled.move)
    applied = await store.apply(list(groups.values())) if groups else None
    return len(applied.versions) if applied else 0


async def reap_until(store: SqlStore, stop: asyncio.Event, every_s: float = 0.1) -> int:
    moved = 0
    while not stop.is_set():
        moved += await reap(store, store.tables)
        await asyncio.sleep(every_s)
    return moved
