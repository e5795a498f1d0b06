"""`holdfast pipeline`: runs of pipelines, stage by stage."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import App, Parameter

from holdfast.cli.exits import Exit
from holdfast.cli.invocation import Call
from holdfast.cli.job.waiting import seconds_of
from holdfast.cli.opened import plainly
from holdfast.cli.pairs import named_values
from holdfast.systems.pipeline.cli.table import FOLLOWED, RUNS, stages_table, view_of

app = App(name="pipeline", help="Runs of pipelines: list, show, run, cancel.")
RunId = Annotated[str, Parameter(name="ID", help="The run's id.")]
STATES = "Only runs in this state: PENDING, RUNNING, COMPLETED, PARTIAL, FAILED, CANCELLED. May be given several times."
FIELDS = (
    "A field of the config as name=value: JSON where the value reads as JSON, else text. May be given several times."
)


@app.command(name="list")
async def list_(
    name: Annotated[str | None, Parameter(name="NAME")] = None,
    /,
    *,
    state: Annotated[list[str] | None, Parameter(name=["--state", "-s"], help=STATES)] = None,
    limit: Annotated[int, Parameter(name=["--limit", "-n"])] = 20,
    call: Call,
) -> None:
    """List runs, newest first, with the stage that each is at.

    Args:
        name: Only runs of this pipeline.
        limit: How many at most.
    """
    from holdfast.systems.pipeline.views import pipeline_views
    from holdfast.views.listing import list_jobs

    async with call.store() as store:
        wanted: dict[str, Any] = {"states": state or (), "task": name, "lifecycle": "pipeline", "limit": limit}
        page = await list_jobs(store.reads, store.tables, **wanted)
        views = await pipeline_views(store, page.items)
    call.print_list(views, "id", RUNS, "no runs: holdfast pipeline run NAME")


@app.command
async def show(run_id: RunId, /, *, call: Call) -> None:
    """Show a run and its stages."""
    async with call.store() as store:
        view = await view_of(store, run_id)
    call.print_record(view, stages_table(view), view["id"])


@app.command
def run(
    name: Annotated[str, Parameter(name="NAME")],
    /,
    *,
    config: Annotated[list[str] | None, Parameter(name=["--config", "-c"], help=FIELDS)] = None,
    wait: Annotated[bool, Parameter(name=["--wait", "-w"])] = False,
    timeout: Annotated[str | None, Parameter(name=["--timeout", "-t"])] = None,
    key: str | None = None,
    call: Call,
) -> int:
    """Start a run and print its id; with --wait, its stages as they go, and its result.

    Args:
        name: The pipeline's name, as the app declares it.
        wait: Follow the run until it is over. Exit 10 when it failed, 11 when it was cancelled.
        timeout: Stop waiting after this long ("90", "90s", "5m"): exit 124. The run goes on.
        key: An idempotency key: the same key gives the same run.
    """
    from holdfast.systems.pipeline.declare.pipeline import pipeline_named

    fields = named_values(config, "--config")
    limit_s = seconds_of(timeout)
    engine = call.engine()
    with plainly(engine.url):
        try:
            pipe = pipeline_named(engine, name)
            handle = (pipe if key is None else pipe.options(key=key)).submit(**fields)
            if not handle.created:
                call.say(f"a run is under way, or has this key: {handle.id}")
            if wait or timeout is not None:
                return FOLLOWED.wait(call, engine, handle.id, limit_s)
            view = handle.show()
        finally:
            engine.close()
    call.print_record(view, handle.id, handle.id)
    call.say(f"{view['state']} in {view['queue']}; `holdfast pipeline show {handle.id}`")
    return Exit.OK


@app.command
async def watch(
    run_id: RunId, /, *, timeout: Annotated[str | None, Parameter(name=["--timeout", "-t"])] = None, call: Call
) -> int:
    """Follow a run's stages until it is over. Exit codes as of `pipeline run --wait`.

    Args:
        timeout: Stop after this long ("90", "90s", "5m"): exit 124. The run goes on.
    """
    return await FOLLOWED.watch(call, run_id, timeout)


@app.command
async def cancel(
    run_id: RunId, /, *, reason: Annotated[str, Parameter(name=["--reason", "-r"])] = "cancelled", call: Call
) -> None:
    """Cancel a run: at once when it has not begun, else its stage is interrupted. Exit 5 when it is over.

    Args:
        reason: Why; it is kept with the run.
    """
    from holdfast.commands.cancel import cancel as cancel_job

    async with call.store() as store:
        view = await view_of(store, run_id)
        await cancel_job(store, view["id"], reason)
        view = await view_of(store, run_id)
    call.print_record(view, f"{view['id']} {view['state']}", view["id"])
    if view["finished_at"] is None:
        call.say("its worker was asked to stop")
