"""Drain as a worker does: the next batch is claimed while the last one is being finished."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from bench.contender import Stepwise


async def overlapped(contender: Stepwise, batch: int, jobs: int, until_s: float) -> int:
    """See `Contender.drain`. What was claimed is always finished, also when time is up."""
    ready: asyncio.Queue[Sequence[Any] | None] = asyncio.Queue(maxsize=1)

    async def claim() -> None:
        left = jobs
        while left > 0 and time.monotonic() < until_s:
            taken = await contender.claim(min(batch, left))
            if not taken:
                break
            left -= len(taken)
            await ready.put(taken)
        await ready.put(None)

    async def finish() -> int:
        done = 0
        while (taken := await ready.get()) is not None:
            await contender.finish(taken)
            done += len(taken)
        return done

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(claim())
        finished = tasks.create_task(finish())
    return finished.result()
