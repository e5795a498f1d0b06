"""What people and programs do to jobs that exist: look, cancel, resume."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from holdfast.kernel.errors import HoldfastError, NotFoundError
from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Command, Lifecycle
from holdfast.kernel.move import move
from holdfast.kernel.state import LEASED
from holdfast.store.port import Lease
from holdfast.store.reads import Filter

if TYPE_CHECKING:
    from holdfast.runtime.engine import Engine

TURNS = 10
"""How often a command is tried again on a job that moved in between."""


async def get_job(engine: Engine, job_id: str) -> Job:
    store = await engine.opened()
    job = await store.reads.get(job_id)
    if job is None:
        raise NotFoundError("job", job_id, "holdfast job list")
    return job


async def list_jobs(engine: Engine, where: Filter, limit: int) -> list[Job]:
    store = await engine.opened()
    return (await store.reads.list(where, limit=limit)).items


def states_named(tables: Mapping[str, Lifecycle], name: str) -> tuple[str, ...]:
    """The canonical states that a label of any lifecycle, or a canonical name, stands for."""
    found = {state.value for table in tables.values() for state in table.parse(str(name))}
    if not found:
        known = sorted({str(state) for table in tables.values() for state in table.states})
        raise HoldfastError(f"no state {name!r}", field="state", remedy=f"one of {', '.join(known)}")
    return tuple(sorted(found))


async def cancel(engine: Engine, job_id: str, reason: str, mode: str) -> Job:
    """Cancel at once what no worker holds; ask the worker (soft), or take the job from it (hard)."""
    if mode not in ("soft", "hard"):
        raise HoldfastError(f"mode is {mode!r}", field="mode", remedy='"soft" or "hard"')
    store = await engine.opened()
    for _ in range(TURNS):
        job = await get_job(engine, job_id)
        engine.table(job.lifecycle).row(job.state, Command.CANCEL)
        if job.state in LEASED and mode == "soft":
            if await store.request_cancel([Lease(job.id, job.attempt)], mode):
                return await get_job(engine, job_id)
            continue
        if await _do(engine, job, Command.CANCEL, reason):
            return await get_job(engine, job_id)
    raise _busy(job_id)


async def resume(engine: Engine, job_id: str, reason: str) -> Job:
    for _ in range(TURNS):
        job = await get_job(engine, job_id)
        if await _do(engine, job, Command.RESUME, reason):
            engine.waker.wake()
            return await get_job(engine, job_id)
    raise _busy(job_id)


async def _do(engine: Engine, job: Job, command: str, reason: str) -> bool:
    store = await engine.opened()
    changes = move(engine.table(job.lifecycle), [job], command, actor="client", reason=reason)
    return bool((await store.apply(changes)).versions)


def _busy(job_id: str) -> HoldfastError:
    return HoldfastError(f"job {job_id} keeps moving", remedy="try again")
