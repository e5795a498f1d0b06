"""`holdfast workers`: who works, on which queues."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter
from rich.text import Text

from holdfast.cli.invocation import Call, Output
from holdfast.cli.render import rows, short_time, table


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
    if call.is_json:
        call.print_json(shown)
    elif call.output is Output.IDS:
        call.print_ids(view["owner"] for view in shown)
    elif not shown:
        gone = f" ({len(views)} on record, --all shows them)" if views else ""
        call.say(f"no worker was seen in the last {ALIVE_MS // 1000} s{gone}; `holdfast worker module:app` starts one")
    else:
        made = table("worker", "queues", "slots", "started", "seen", "", right=["slots"], whole=["worker", "slots"])
        call.print(
            rows(
                made,
                (
                    [
                        view["owner"],
                        ", ".join(view["queues"]),
                        str(view["concurrency"]),
                        short_time(view["started_at"]),
                        short_time(view["seen_at"]),
                        ", ".join(f"{name} {value}" for name, value in view["stats"].items())
                        if view["alive"]
                        else Text("gone", "red"),
                    ]
                    for view in shown
                ),
            )
        )
