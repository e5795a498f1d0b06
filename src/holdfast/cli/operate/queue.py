"""`holdfast queue`: backlogs, and holding them back."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter
from rich.text import Text

from holdfast.cli.invocation import Call, Output
from holdfast.cli.render import rows, short_time, table
from holdfast.store.port import CAP

app = App(name="queue", help="Queues: backlogs, and holding them back.")
Name = Annotated[str, Parameter(name="NAME")]


@app.command(name="list")
async def list_(*, call: Call) -> None:
    """List queues that have jobs, workers or a pause."""
    from holdfast.views.queues import queue_view, queues

    async with call.store() as store:
        views = [queue_view(queue) for queue in await queues(store)]
    if call.is_json:
        call.print_json(views)
    elif call.output is Output.IDS:
        call.print_ids(view["name"] for view in views)
    elif not views:
        call.say("no queue has jobs, workers or a pause")
    else:
        shown = table(
            "queue",
            "queued",
            "due",
            "running",
            "workers",
            "due since",
            "",
            right=["queued", "due", "running", "workers"],
            whole=["queue", "queued", "due", "running", "workers", "due since"],
        )
        call.print(
            rows(
                shown,
                (
                    [
                        view["name"],
                        _many(view["queued"]),
                        _many(view["due"]),
                        f"{view['running']:,}",
                        _workers(view["workers"], view["due"]),
                        short_time(view["oldest_due_at"]),
                        _pause(view["paused"], view["reason"]),
                    ]
                    for view in views
                ),
            )
        )


@app.command
async def pause(name: Name, /, *, reason: str | None = None, call: Call) -> None:
    """Let no worker claim from a queue. What runs goes on; what is submitted waits.

    Args:
        name: The queue.
        reason: Why: `holdfast queue list` and `job explain` show it.
    """

    async with call.store() as store:
        await store.admin.queues.pause(name, reason)
    call.print_record({"name": name, "paused": True, "reason": reason}, f"{name} paused", name)


@app.command
async def resume(name: Name, /, *, call: Call) -> None:
    """Let a paused queue be claimed from again.

    Args:
        name: The queue.
    """

    async with call.store() as store:
        was = await store.admin.queues.unpause(name)
        store.wakeups.ring()
    call.print_record({"name": name, "paused": False, "was_paused": was}, f"{name} goes on", name)
    if not was:
        call.say("it was not paused")


def _many(count: int) -> str:
    return f"{count:,}{'+' if count >= CAP else ''}"


def _workers(count: int, due: int) -> Text:
    return Text(str(count), "yellow" if due and not count else "")


def _pause(paused: bool, reason: str | None) -> Text:
    return Text(f"paused{f': {reason}' if reason else ''}", "yellow") if paused else Text()
