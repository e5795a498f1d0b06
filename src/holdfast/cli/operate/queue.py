"""`holdfast queue`: backlogs, and holding them back."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter
from rich.text import Text

from holdfast.cli.invocation import Call
from holdfast.cli.render import Column, View
from holdfast.store.port import CAP

app = App(name="queue", help="Queues: backlogs, and holding them back.")
Name = Annotated[str, Parameter(name="NAME", help="The queue.")]


@app.command(name="list")
async def list_(*, call: Call) -> None:
    """List queues that have jobs, workers or a pause."""
    from holdfast.views.queues import queue_view, queues

    async with call.store() as store:
        views = [queue_view(queue) for queue in await queues(store)]
    call.print_list(views, "name", COLUMNS, "no queue has jobs, workers or a pause")


@app.command
async def pause(name: Name, /, *, reason: str | None = None, call: Call) -> None:
    """Let no worker claim from a queue. What runs goes on; what is submitted waits.

    Args:
        reason: Why: `holdfast queue list` and `job explain` show it.
    """

    async with call.store() as store:
        await store.admin.queues.pause(name, reason)
    call.print_record({"name": name, "paused": True, "reason": reason}, f"{name} paused", name)


@app.command
async def resume(name: Name, /, *, call: Call) -> None:
    """Let a paused queue be claimed from again."""

    async with call.store() as store:
        was = await store.admin.queues.unpause(name)
        store.wakeups.ring()
    call.print_record({"name": name, "paused": False, "was_paused": was}, f"{name} goes on", name)
    if not was:
        call.say("it was not paused")


def _many(count: int) -> str:
    return f"{count:,}{'+' if count >= CAP else ''}"


def _workers(view: View) -> Text:
    return Text(str(view["workers"]), "yellow" if view["due"] and not view["workers"] else "")


def _pause(view: View) -> Text:
    why = f": {view['reason']}" if view["reason"] else ""
    return Text(f"paused{why}", "yellow") if view["paused"] else Text()


COLUMNS = (
    Column("queue", "name", whole=True),
    Column("queued", lambda view: _many(view["queued"]), right=True, whole=True),
    Column("due", lambda view: _many(view["due"]), right=True, whole=True),
    Column("running", lambda view: f"{view['running']:,}", right=True, whole=True),
    Column("workers", _workers, right=True, whole=True),
    Column("due since", "oldest_due_at", whole=True),
    Column("", _pause),
)
