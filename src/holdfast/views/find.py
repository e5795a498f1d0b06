"""Jobs by what people know of them: an id, a state's name, that they will be over."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from holdfast.kernel.errors import HoldfastError, NotFoundError
from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.state import OVER, RANK
from holdfast.store.port import Seen, Store

FIRST_LOOK_S = 0.005
SLOWEST_LOOK_S = 0.25


async def get_job(store: Store, job_id: str) -> Job:
    job = await store.reads.get(job_id)
    if job is None:
        raise NotFoundError("job", job_id, "holdfast job list")
    return job


async def see_job(store: Store, job_id: str) -> Seen:
    """The same, with all that is shown of it."""
    seen = await store.reads.one(job_id)
    if seen is None:
        raise NotFoundError("job", job_id, "holdfast job list")
    return seen


def states_named(tables: Mapping[str, Lifecycle], name: str) -> tuple[str, ...]:
    """The canonical states that a label of any lifecycle, or a canonical name, stands for."""
    found = {state.value for table in tables.values() for state in table.parse(str(name))}
    if not found:
        known = sorted({str(state) for table in tables.values() for state in table.states})
        raise HoldfastError(f"no state {name!r}", field="state", remedy=f"one of {', '.join(known)}")
    return tuple(sorted(found))


async def until_over(store: Store, job_id: str, timeout_s: float | None = None) -> Job | None:
    """The job once it is over; None when that takes longer than the timeout."""
    deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
    pause_s = FIRST_LOOK_S
    while True:
        job = await get_job(store, job_id)
        if RANK[job.state] >= OVER:
            return job
        if deadline_s is not None:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                return None
            pause_s = min(pause_s, left_s)
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 1.5, SLOWEST_LOOK_S)
