"""The reaper as a test needs it: every lost lease is settled as the kernel says."""

import asyncio
from collections.abc import Mapping

from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.move import Change
from holdfast.kernel.settle import lost
from holdfast.store.port import Store


async def reap(store: Store, tables: Mapping[str, Lifecycle], limit: int = 500) -> int:
    """Settle what is lost now; how many jobs moved. A rival that was faster is no fault."""
    groups: dict[object, Change] = {}
    for job in await store.upkeep.lost(limit):
        table = tables[job.lifecycle]
        settled = lost(table, job)
        change = groups.setdefault(settled.path, Change(table, settled.path, "reaper", []))
        change.moves.append(settled.move)
    applied = await store.jobs.apply(list(groups.values())) if groups else None
    return len(applied.versions) if applied else 0


async def reap_until(store: Store, stop: asyncio.Event, every_s: float = 0.1) -> int:
    moved = 0
    while not stop.is_set():
        moved += await reap(store, store.tables)
        await asyncio.sleep(every_s)
    return moved
