"""Submits from an event loop of the caller's own go straight to PostgreSQL: the way through the engine's loop costs
about as much as the job.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from holdfast.kernel.job import Spec
from holdfast.store.open import open_store
from holdfast.store.port import Store, Wakeups

if TYPE_CHECKING:
    from holdfast.runtime.inside import Inside


class _Nearby(NamedTuple):
    """What one loop has: a store with connections of its own, and the task that closes it with the loop."""

    store: Store
    beside: Wakeups
    """The engine's own, in its loop."""
    keeper: asyncio.Task[None]


class Near:
    """The engine's stores in loops that are not its own."""

    def __init__(self, engine: Inside) -> None:
        self._engine = engine
        self._loops: dict[asyncio.AbstractEventLoop, _Nearby] = {}

    def wait_for(self, specs: Sequence[Spec]) -> list[str]:
        """Store specs from a thread that waits: by itself, where a store has no need of a loop for it."""
        engine = self._engine
        store = engine.store
        if store is None or store.wait is None or engine.portal.is_here:
            return engine.portal.call(engine.asubmit_specs(specs))
        submitted = store.wait(store.jobs.submit(specs))
        if store.wakeups.waiting:
            engine.portal.loop.call_soon_threadsafe(store.wakeups.ring_near)
        return [answer.job_id for answer in submitted]

    async def submit(self, specs: Sequence[Spec]) -> list[str]:
        """Store specs from whatever loop this is."""
        engine, loop = self._engine, asyncio.get_running_loop()
        if loop is engine.portal.loop or not engine.url.startswith("postgres"):
            return await engine.portal.hop(engine.asubmit_specs(specs))
        nearby = self._loops.get(loop)
        if nearby is None:
            wakeups = (await engine.portal.hop(engine.opened())).wakeups
            nearby = self._loops.get(loop) or self._open(loop, wakeups)
        submitted = await nearby.store.jobs.submit(specs)
        if nearby.beside.waiting:
            engine.portal.loop.call_soon_threadsafe(nearby.beside.ring_near)
        nearby.store.wakeups.ring()
        return [answer.job_id for answer in submitted]

    def _open(self, loop: asyncio.AbstractEventLoop, beside: Wakeups) -> _Nearby:
        store = open_store(self._engine.url, clock=self._engine.clock, tables=self._engine.tables)
        keeper = loop.create_task(self._keep(loop, store), name="holdfast-near")
        nearby = self._loops[loop] = _Nearby(store, beside, keeper)
        return nearby

    async def _keep(self, loop: asyncio.AbstractEventLoop, store: Store) -> None:
        """Until the loop ends, or the engine is closed."""
        try:
            await asyncio.Event().wait()
        finally:
            self._loops.pop(loop, None)
            await store.close()

    def close(self) -> None:
        """Let every loop close its own; one that has ended has done so."""
        for loop, nearby in list(self._loops.items()):
            if loop.is_running():
                loop.call_soon_threadsafe(nearby.keeper.cancel)
        self._loops.clear()
