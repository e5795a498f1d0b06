"""Waiting for jobs: how a wait ends, for `run --wait`, `job wait` and `job watch` alike."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from holdfast.cli.exits import Exit
from holdfast.cli.invocation import Call, Output
from holdfast.kernel.errors import NotFoundError
from holdfast.kernel.state import SUCCESSFUL, Canonical
from holdfast.tasks.durations import duration_ms
from holdfast.views.job import job_view
from holdfast.views.of_systems import views_of

if TYPE_CHECKING:
    from holdfast.kernel.job import Job
    from holdfast.store.port import Store

JobId = Annotated[str, Parameter(name="ID", help="The job's id.")]
Timeout = Annotated[str | None, Parameter(name=["--timeout", "-t"])]
HINT_AFTER_S = 3.0
"""A job that has not started by then may never: say why, once."""


def seconds_of(timeout: str | None) -> float | None:
    """A timeout as it was typed: "90", "90s", "5m"; None waits for as long as it takes."""
    if timeout is None:
        return None
    try:
        return float(timeout)
    except ValueError:
        return duration_ms(timeout, "timeout") / 1_000


def exit_of_job(job: Job) -> Exit:
    if job.state in SUCCESSFUL:
        return Exit.OK
    return Exit.JOB_CANCELLED if job.state == Canonical.CANCELLED else Exit.JOB_FAILED


async def get(store: Store, job_id: str) -> Job:
    job = await store.reads.get(job_id.strip().lower())
    if job is None:
        raise NotFoundError("job", job_id, remedy="see `holdfast job list`, and check --db")
    return job


async def wait_for(call: Call, store: Store, job_ids: Sequence[str], timeout_s: float | None) -> int:
    """Wait until all are over and say how each ended. Ctrl-C detaches: the jobs go on."""
    from holdfast.views.find import until_over

    deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
    ended: list[Job] = []
    hint = asyncio.create_task(_hint(call, store, job_ids))
    try:
        for job_id in job_ids:
            left_s = None if deadline_s is None else max(deadline_s - time.monotonic(), 0.0)
            job = await until_over(store, job_id, left_s)
            if job is None:
                call.say(f"{job_id} has not ended after {timeout_s:g} s; it goes on")
                return Exit.WAIT_TIMED_OUT
            ended.append(job)
    except asyncio.CancelledError:
        return detached(call, job_ids)
    finally:
        hint.cancel()
    await _tell(call, store, ended)
    return max(map(exit_of_job, ended), default=Exit.OK)


def detached(call: Call, job_ids: Sequence[str]) -> Exit:
    one = len(job_ids) == 1
    goes = "the job goes" if one else "the jobs go"
    call.say(f"detached: {goes} on; `holdfast job wait {' '.join(job_ids)}` waits again")
    return Exit.INTERRUPTED


async def _hint(call: Call, store: Store, job_ids: Sequence[str]) -> None:
    from holdfast.views.situation import explain_job

    await asyncio.sleep(HINT_AFTER_S)
    for job in await store.reads.get_many(list(job_ids)):
        if job.started_at_ms is None and job.finished_at_ms is None:
            sentence, command = await explain_job(store, job.id, call.settings.app)
            call.say(f"{sentence}{f'; {command}' if command else ''}")
            return


async def _tell(call: Call, store: Store, jobs: Sequence[Job]) -> None:
    """Results on stdout, failures on stderr; whole jobs as JSON."""
    from holdfast.views.find import see_job

    views = [job_view(*await see_job(store, job.id)) for job in jobs]
    for job, view in zip(jobs, views, strict=True):
        if job.state in SUCCESSFUL:
            view["result"] = await views_of(job.lifecycle).result(store, job, view["result"])
    if call.is_json:
        call.print_json(views[0] if len(views) == 1 else views)
        return
    if call.output is Output.IDS:
        call.print_ids(view["id"] for view in views)
    for view in views:
        if view["error"]:
            error = view["error"]
            call.say(f"{view['id']} {view['state']}: {error.get('code')}: {error.get('message')}")
            call.say(f"why: holdfast job explain {view['id']}")
        elif view["canonical_state"] not in SUCCESSFUL:
            call.say(f"{view['id']} {view['state']}")
        elif call.output is Output.TABLE:
            if view["result"] is not None:
                print(json.dumps(view["result"], ensure_ascii=False))
            else:
                call.say(f"{view['id']} {view['state']}")
