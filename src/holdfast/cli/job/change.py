"""`holdfast job cancel`, `resume`, `retry`, `delete`: what is done to jobs that exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from holdfast.cli.exits import Exit
from holdfast.cli.invocation import Call
from holdfast.cli.job.bulk import DryRun, Ids, Yes, is_dry, tell
from holdfast.cli.job.waiting import JobId, get
from holdfast.commands import cancel as cancel_command
from holdfast.commands import delete as delete_command
from holdfast.commands import resume as resume_command
from holdfast.commands import retry as retry_command
from holdfast.views.job import job_view, label
from holdfast.views.living import living_jobs

if TYPE_CHECKING:
    from holdfast.kernel.job import Job
    from holdfast.kernel.lifecycle import Lifecycle

ACTOR = "cli"


async def cancel(
    *ids: Ids,
    state: Annotated[list[str] | None, Parameter(name=["--state", "-s"])] = None,
    task: str | None = None,
    queue: str | None = None,
    lifecycle: str | None = None,
    mode: Literal["soft", "hard"] = "soft",
    reason: str = "cancelled from the command line",
    dry_run: DryRun = False,
    yes: Yes = False,
    call: Call,
) -> int:
    """Cancel jobs: at once where no worker holds them, else by asking the worker to stop.

    Several jobs, and those that a filter chooses, are only shown until --yes is said.

    Args:
        ids: The jobs' ids.
        state: Jobs in this state, by its label or canonical name; may be given several times.
        task: Jobs of this task.
        queue: Jobs in this queue.
        lifecycle: Jobs that follow this lifecycle.
        mode: soft asks a running job's worker to stop; hard takes the job from it.
        reason: Why, as the job's events will say.
    """

    filters = {"state": state, "task": task, "queue": queue, "lifecycle": lifecycle}
    dry = is_dry(ids, filters, dry_run=dry_run, yes=yes)
    async with call.store() as store:
        tables = await store.reads.lifecycles()
        if ids:
            jobs = [await get(store, job_id) for job_id in ids]
        else:
            jobs, _ = await living_jobs(
                store.reads, tables, states=state or (), task=task, queue=queue, lifecycle=lifecycle
            )
        if len(ids) == 1 and not dry:
            done, left = [(await cancel_command.cancel(store, jobs[0].id, reason, mode, ACTOR)).id], {}
        elif dry:
            allowed = {job.id: "cancel" in tables[job.lifecycle].commands(job.state) for job in jobs}
            done = [job.id for job in jobs if allowed[job.id]]
            left = {job.id: f"it is {label(tables[job.lifecycle], job.state)}" for job in jobs if not allowed[job.id]}
        else:
            done, left = await cancel_command.cancel_many(store, jobs, reason, mode, ACTOR)
        now = {job.id: job for job in await store.reads.get_many(done)}
    items = [_item(job, tables[job.lifecycle]) for job_id in done if (job := now.get(job_id))]
    asked = any(job.cancel_requested and job.finished_at_ms is None for job in now.values())
    tell(call, "cancel", "cancelled, or asked to stop" if asked else "cancelled", items, left, dry)
    return Exit.CONFLICT if left and not dry else Exit.OK


def _item(job: Job, table: Lifecycle) -> dict[str, Any]:
    asked = ", asked to stop" if job.cancel_requested else ""
    return {"id": job.id, "task": job.task, "state": label(table, job.state) + asked}


async def resume(job_id: JobId, /, *, reason: str = "resumed from the command line", call: Call) -> None:
    """Bring a cancelled job back, where its lifecycle allows that.

    Args:
        reason: Why, as the job's events will say.
    """

    async with call.store() as store:
        job = await resume_command.resume(store, (await get(store, job_id)).id, reason, ACTOR)
        table = await store.table(job.lifecycle)
        store.wakeups.ring()
    call.print_record(job_view(job, table), f"{job.id}  {label(table, job.state)}", job.id)


async def retry(job_id: JobId, /, *, reason: str = "retried from the command line", call: Call) -> None:
    """Run a job now: one that waits for its time becomes due; one that failed is submitted once more.

    A new job names the old one as its parent, and is printed in its place.

    Args:
        reason: Why, as the job's events will say.
    """
    from holdfast.commands.anew import checker

    check = checker(call.engine().registry) if call.app else None
    async with call.store() as store:
        old = await get(store, job_id)
        retried = await retry_command.retry(store, old.id, reason, ACTOR, check)
        job = await get(store, retried.job_id)
        table = await store.table(job.lifecycle)
        store.wakeups.ring()
    call.print_record(job_view(job, table), f"{job.id}  {label(table, job.state)}", job.id)
    call.say(f"a new job in place of {old.id}" if retried.is_new else "due now")


async def delete(*ids: Ids, dry_run: DryRun = False, yes: Yes = False, call: Call) -> None:
    """Remove finished jobs with their events and artifacts; the log keeps on record that they were there.

    Several jobs are only shown until --yes is said.

    Args:
        ids: The jobs' ids.
    """

    dry = is_dry(ids, {}, dry_run=dry_run, yes=yes)
    async with call.store() as store:
        tables = await store.reads.lifecycles()
        jobs = [await get(store, job_id) for job_id in ids]
        if not dry:
            await delete_command.delete(store, [job.id for job in jobs])
    items = [{"id": job.id, "task": job.task, "state": label(tables.get(job.lifecycle), job.state)} for job in jobs]
    tell(call, "delete", "deleted", items, {}, dry)
