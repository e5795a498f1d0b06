"""`holdfast schedule`: what is submitted by the clock."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from holdfast.cli.invocation import Call
from holdfast.cli.render import Column, long_time

if TYPE_CHECKING:
    from holdfast.chores.scheduler import Scheduler

app = App(name="schedule", help="What is submitted by the clock.")
Name = Annotated[str, Parameter(name="NAME", help="The schedule's name.")]


@app.command(name="list")
async def list_(*, call: Call) -> None:
    """List schedules, with the time of their next tick."""
    from holdfast.views.part_views import schedule_view

    async with _scheduler(call) as scheduler:
        views = [schedule_view(row) for row in await scheduler.list()]
    columns = (
        *(Column(name, whole=True) for name in ("name", "task", "cron")),
        Column("timezone"),
        Column("missed"),
        Column("next", lambda each: "paused" if each["paused"] else long_time(each["next_at"]) or ""),
    )
    call.print_list(views, "name", columns, "no schedules: declare one with app.schedule(…)")


@app.command
async def pause(name: Name, /, *, call: Call) -> None:
    """Hold a schedule: nothing is submitted until it is resumed, and nothing made up then."""
    async with _scheduler(call) as scheduler:
        await scheduler.pause(name)
    call.say(f"{name} is paused")


@app.command
async def resume(name: Name, /, *, call: Call) -> None:
    """Let a paused schedule go on, from now."""
    from holdfast.views.job import iso

    async with _scheduler(call) as scheduler:
        await scheduler.resume(name)
        row = await scheduler.get(name)
    call.say(f"{name} goes on; next at {iso(row.next_tick_ms)}")


@app.command
async def run(name: Name, /, *, call: Call) -> None:
    """Submit one job of a schedule now, beside its ticks, and print the job's id."""
    async with _scheduler(call) as scheduler:
        job_id = await scheduler.submit_now(name)
    if call.is_json:
        call.print_json({"id": job_id})
    else:
        print(job_id)


@app.command
async def remove(name: Name, /, *, call: Call) -> None:
    """Forget a schedule; its jobs stay. A process that declares it brings it back."""
    async with _scheduler(call) as scheduler:
        await scheduler.remove(name)
    call.say(f"{name} is removed")


@asynccontextmanager
async def _scheduler(call: Call) -> AsyncIterator[Scheduler]:
    from holdfast.chores.scheduler import Scheduler

    async with call.store() as store:
        yield Scheduler(store)
