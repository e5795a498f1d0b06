"""`holdfast workers`: who works, on which queues."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter
from rich.text import Text

from holdfast.cli.invocation import Call
from holdfast.cli.render import Column, View


async def workers(*, everybody: Annotated[bool, Parameter(name=["--all", "-a"])] = False, call: Call) -> None:
    """List the workers that are alive.

    Args:
        everybody: Those too that were not seen for a while.
    """
    from holdfast.views.queues import ALIVE_MS, worker_view

    async with call.store() as store:
        now_ms = await store.now_ms()
        views = [worker_view(worker, now_ms) for worker in await store.admin.workers.list()]
    shown = [view for view in views if everybody or view["alive"]]
    gone = f" ({len(views)} on record, --all shows them)" if views else ""
    nobody = f"no worker was seen in the last {ALIVE_MS // 1000} s{gone}; `holdfast worker module:app` starts one"
    call.print_list(shown, "owner", COLUMNS, nobody)


def _stats(view: View) -> str | Text:
    return (
        ", ".join(f"{name} {value}" for name, value in view["stats"].items()) if view["alive"] else Text("gone", "red")
    )


COLUMNS = (
    Column("worker", "owner", whole=True),
    Column("queues", lambda view: ", ".join(view["queues"])),
    Column("slots", "concurrency", right=True, whole=True),
    Column("started", "started_at"),
    Column("seen", "seen_at"),
    Column("", _stats),
)
