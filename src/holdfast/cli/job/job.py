"""`holdfast job`: looking at jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from holdfast.cli.invocation import Call, Output
from holdfast.cli.job.waiting import JobId, get
from holdfast.kernel.graph.flow_lifecycle import FLOW
from holdfast.views.job import event_view, job_view
from holdfast.views.listing import job_views, list_jobs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.cli.render import Column

STEPS = 200_000
"""A list that finds little stops after so many jobs, and says how to go on: a second or less."""

app = App(name="job", help="Look at jobs, wait for them, change them.")

# Each by its import path: only the command that is run is imported.
for _name, _path, _help in (
    ("wait", "wait:wait", "Wait until jobs are over and print their results."),
    ("watch", "wait:watch", "Follow a job's state and progress until it is over."),
    ("logs", "look:logs", "Show what a job said: its log lines and its progress."),
    ("explain", "look:explain", "Say why a job is where it is, and the command that helps."),
    ("artifacts", "look:artifacts", "List the files that a job left, or print one of them."),
    ("cancel", "change:cancel", "Cancel jobs."),
    ("resume", "change:resume", "Bring a cancelled job back, where its lifecycle allows that."),
    ("retry", "change:retry", "Run a job now, or once more."),
    ("delete", "change:delete", "Remove finished jobs."),
):
    app.command(f"holdfast.cli.job.{_path}", name=_name, help=_help)


@app.command(name="list")
async def list_(
    *,
    state: Annotated[list[str] | None, Parameter(name=["--state", "-s"])] = None,
    task: str | None = None,
    queue: str | None = None,
    lifecycle: str | None = None,
    limit: int = 50,
    cursor: str | None = None,
    call: Call,
) -> None:
    """List jobs, newest first.

    Args:
        state: Only jobs in this state, by its label or canonical name; may be given several times.
        task: Only jobs of this task.
        queue: Only jobs in this queue.
        lifecycle: Only jobs that follow this lifecycle.
        limit: How many at most, up to 500.
        cursor: Go on where another list ended.
    """
    async with call.store() as store:
        tables = await store.reads.lifecycles()
        page = await list_jobs(
            store.reads,
            tables,
            states=state or (),
            task=task,
            queue=queue,
            lifecycle=lifecycle,
            limit=limit,
            cursor=cursor,
            steps=STEPS,
        )
        views = await job_views(store.reads, tables, page.items)
    nothing = "no jobs" if page.next_cursor is None else f"none among {STEPS:,} jobs"
    call.print_page(views, page.next_cursor, "id", _job_columns, nothing)


@app.command
async def show(job_id: JobId, /, *, call: Call) -> None:
    """Show one job as it stands."""
    from holdfast.views.find import see_job

    async with call.store() as store:
        job = await get(store, job_id)
        view = job_view(*await see_job(store, job.id))
    from holdfast.cli.job.table import job_table

    call.print_record(view, job_table(view), job.id)
    if job.lifecycle == FLOW.name:
        call.say(f"its nodes: holdfast flow show {job.id}")


@app.command
async def events(job_id: JobId, /, *, call: Call) -> None:
    """Show everything that happened to a job, in order."""
    async with call.store() as store:
        job = await get(store, job_id)
        table = (await store.reads.lifecycles()).get(job.lifecycle)
        views = [event_view(event, table) for event in await store.reads.events(job.id)]
    call.print_list(views, "id", _event_columns)


@app.command
async def prove(job_id: JobId, /, *, call: Call) -> None:
    """Print a job's certificate: its events and the proof that they are in the sealed log. Always JSON."""
    import json

    from holdfast.audit.certificates import prove as certificate_of

    async with call.store() as store:
        job = await get(store, job_id)
        certificate = await certificate_of(store, job.id)
    print(json.dumps(certificate, indent=None if call.output is Output.JSONL else 2, ensure_ascii=False))
    call.say("keep it in a file; `holdfast verify FILE` checks it without a database")


def _job_columns(width: int) -> Iterable[Column]:
    from holdfast.cli.job.table import jobs_columns

    return jobs_columns(width)


def _event_columns(width: int) -> Iterable[Column]:
    from holdfast.cli.job.table import events_columns

    return events_columns(width)
