"""What people and programs do to jobs that exist: look, wait, cancel, resume, retry, delete."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from holdfast.chores.sealer import Sealer
from holdfast.commands.dead import Check, again, replay
from holdfast.kernel.errors import BusyError, HoldfastError, NotAllowedError, NotFoundError
from holdfast.kernel.graph.flow_lifecycle import FLOW
from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Command, Lifecycle, is_over
from holdfast.kernel.move import Change, Move, move
from holdfast.kernel.settle import because
from holdfast.kernel.state import LEASED, OVER, RANK, SUCCESSFUL, Canonical
from holdfast.store.port import Filter, Lease, PurgeRow, Store

TURNS = 10
"""How often a command is tried again on a job that moved in between."""

RETRY = "holdfast flow retry"
AT_ONCE = 500
FIRST_LOOK_S = 0.005
SLOWEST_LOOK_S = 0.25


class NotNowError(NotAllowedError):
    """The job is in no state for that, and its lifecycle has no row that could say so."""

    def __init__(self, job: Job, table: Lifecycle, command: str, remedy: str) -> None:
        super().__init__(table.name, str(table.state(job.state)), command, table.commands(job.state))
        self.job_id, self.message, self.remedy = job.id, f"job {job.id} is {self.state}", remedy
        self.args = (f"{self.message}; {remedy}",)


class Retried(NamedTuple):
    """The job that runs now: the one that was asked for, or, with `is_new`, the one that stands in for it."""

    job_id: str
    is_new: bool


class Many(NamedTuple):
    """What a command did to several jobs: the ids that it moved, and why it left others as they were."""

    done: list[str]
    left: dict[str, str]


async def get_job(store: Store, job_id: str) -> Job:
    job = await store.reads.get(job_id)
    if job is None:
        raise NotFoundError("job", job_id, "holdfast job list")
    return job


async def list_jobs(store: Store, where: Filter, limit: int) -> list[Job]:
    return (await store.reads.list(where, limit=limit)).items


def states_named(tables: Mapping[str, Lifecycle], name: str) -> tuple[str, ...]:
    """The canonical states that a label of any lifecycle, or a canonical name, stands for."""
    found = {state.value for table in tables.values() for state in table.parse(str(name))}
    if not found:
        known = sorted({str(state) for table in tables.values() for state in table.states})
        raise HoldfastError(f"no state {name!r}", field="state", remedy=f"one of {', '.join(known)}")
    return tuple(sorted(found))


async def table_of(store: Store, job: Job) -> Lifecycle:
    """The lifecycle that a job follows."""
    return await store.table(job.lifecycle)


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


async def cancel(store: Store, job_id: str, reason: str, mode: str = "soft", actor: str = "client") -> Job:
    """Cancel at once what no worker holds; ask the worker (soft), or take the job from it (hard)."""
    if mode not in ("soft", "hard"):
        raise HoldfastError(f"mode is {mode!r}", field="mode", remedy='"soft" or "hard"')
    for _ in range(TURNS):
        job = await get_job(store, job_id)
        (await table_of(store, job)).row(job.state, Command.CANCEL)
        if job.lifecycle == FLOW.name:
            await store.graph.cancel(job.id, reason, hard=mode == "hard", actor=actor)
            return await get_job(store, job_id)
        if job.state in LEASED and mode == "soft":
            if await store.jobs.request_cancel([Lease(job.id, job.attempt)], f"soft: {reason}"):
                return await get_job(store, job_id)
            continue
        if await _do(store, job, Command.CANCEL, reason, actor):
            if job.state in LEASED:
                await _discard(store, job)
            return await get_job(store, job_id)
    raise _busy(job_id)


async def _discard(store: Store, job: Job) -> None:
    """What a run that was taken from its worker had made so far; a lifecycle that cleans up keeps it until then."""
    if (await table_of(store, job)).find(Canonical.CANCELLED, Command.CLEAN) is None:
        await store.kept.discard_artifacts(job.id, job.attempt)


async def cancel_many(
    store: Store, jobs: Sequence[Job], reason: str, mode: str = "soft", actor: str = "client"
) -> Many:
    """Cancel jobs in batches; what moved since it was looked at, once more by itself, as it stands by then."""
    done: list[str] = []
    left: dict[str, str] = {}
    for start in range(0, len(jobs), AT_ONCE):
        some = jobs[start : start + AT_ONCE]
        ended = await _cancel_alike(store, some, reason, mode, actor)
        for job in some:
            if job.id not in ended:
                try:
                    await cancel(store, job.id, reason, mode, actor)
                except HoldfastError as refused:
                    left[job.id] = refused.message
                    continue
            done.append(job.id)
    return Many(done, left)


async def _cancel_alike(store: Store, jobs: Sequence[Job], reason: str, mode: str, actor: str) -> set[str]:
    """Those of these jobs that could be cancelled, or asked to stop, together."""
    asked = [Lease(job.id, job.attempt) for job in jobs if job.state in LEASED and mode == "soft"]
    free: dict[str, list[Job]] = {}
    for job in jobs:
        if not (job.state in LEASED and mode == "soft") and RANK[job.state] < OVER and job.lifecycle != FLOW.name:
            free.setdefault(job.lifecycle, []).append(job)
    changes: list[Change] = []
    for group in free.values():
        table = await table_of(store, group[0])
        able = [job for job in group if table.find(job.state, Command.CANCEL)]
        cancelled = move(table, able, Command.CANCEL, actor=actor, reason=reason)
        changes += [because(change, reason) for change in cancelled]
    moved = (await store.jobs.apply(changes)).versions if changes else {}
    return {*moved, *await store.jobs.request_cancel(asked, f"soft: {reason}")}


async def resume(store: Store, job_id: str, reason: str, actor: str = "client") -> Job:
    for _ in range(TURNS):
        job = await get_job(store, job_id)
        if job.lifecycle == FLOW.name:
            await store.graph.resume(job.id, reason, actor)
            return await get_job(store, job_id)
        if await store.graph.node(job.id) is not None:
            table = await table_of(store, job)
            raise NotNowError(job, table, "resume", f"it goes on with its flow: holdfast flow resume {job.parent_id}")
        if await _do(store, job, Command.RESUME, reason, actor):
            return await get_job(store, job_id)
    raise _busy(job_id)


async def retry(store: Store, job_id: str, reason: str, actor: str = "client", check: Check | None = None) -> Retried:
    """Run a job now: one that waits for its time becomes due, one that ended badly is submitted once more.

    The new job names the old one as its parent. NotAllowedError for a job that runs, or that ended well.
    """
    for _ in range(TURNS):
        job = await get_job(store, job_id)
        table = await table_of(store, job)
        if job.state in table.claimable:
            if job.due_at_ms <= await store.now_ms() or await _hasten(store, table, job, reason, actor):
                return Retried(job.id, False)
            continue
        if RANK[job.state] < OVER:
            raise NotNowError(job, table, "retry", f"see holdfast job explain {job.id}")
        if job.state in SUCCESSFUL:
            raise NotNowError(job, table, "retry", "it needs no retry: submit the task anew to run it again")
        flow_id = job.id if job.lifecycle == FLOW.name else (await store.graph.node(job.id) or (None,))[0]
        if flow_id is not None:
            raise NotNowError(job, table, "retry", f"what failed of a flow goes on in a new one: {RETRY} {flow_id}")
        if job.state == "dead_lettered":
            [answer] = (await replay(store, [job.id], actor=actor, reason=reason, check=check)).values()
            return Retried(answer.job_id, True)
        spec = again(job, table, await store.now_ms(), key=f"retry:{job.id}", actor=actor, reason=reason, check=check)
        [answer] = await store.jobs.submit([spec], table=table)
        return Retried(answer.job_id, True)
    raise _busy(job_id)


async def _hasten(store: Store, table: Lifecycle, job: Job, reason: str, actor: str) -> bool:
    """Make a waiting job due now: it is taken up and handed back at once, both by rows of its table."""
    taken = table.row(job.state, Command.CLAIM)
    back = table.find(taken.target, Command.HAND_BACK)
    if back is None:
        raise NotNowError(job, table, "retry", f"jobs of {table.name} cannot be hastened: cancel it and submit anew")
    change = Change(table, (taken, back), actor, [Move(job.id, job.attempt, reason=reason)])
    return bool((await store.jobs.apply([change])).versions)


async def delete(store: Store, job_ids: Sequence[str]) -> PurgeRow:
    """Remove finished jobs with everything that belongs to them, on record. NotAllowedError for a living one."""
    jobs = [await get_job(store, job_id) for job_id in job_ids]
    for job in jobs:
        table = await table_of(store, job)
        if not is_over(table, job.state):
            first = "wait until it is cleaned" if RANK[job.state] >= OVER else f"holdfast job cancel {job.id}, first"
            raise NotNowError(job, table, "delete", first)
    await Sealer(store).seal_all()  # what is not sealed yet cannot go: nothing would tell that it was there
    record = await store.upkeep.prune([job.id for job in jobs])
    if record is None:
        raise BusyError("nothing was removed: the log's last events are not sealed yet")
    return record


async def _do(store: Store, job: Job, command: str, reason: str, actor: str) -> bool:
    changes = move(await table_of(store, job), [job], command, actor=actor, reason=reason)
    if command == Command.CANCEL:
        changes = [because(change, reason) for change in changes]
    return bool((await store.jobs.apply(changes)).versions)


def _busy(job_id: str) -> BusyError:
    return BusyError(f"job {job_id} keeps moving")
