"""`holdfast leases`: who holds which job, and for how long."""

from __future__ import annotations

from rich.text import Text

from holdfast.cli.exits import UsageError
from holdfast.cli.invocation import Call, Output
from holdfast.cli.render import rows, short_time, table

LARGEST = 5_000


async def leases(*, limit: int = 100, call: Call) -> None:
    """List the leases, the one that ends first at the head.

    Args:
        limit: How many at most, up to 5000.
    """
    from holdfast.views.phrases import span
    from holdfast.views.queues import lease_view

    if not 1 <= limit <= LARGEST:
        raise UsageError(f"limit is {limit}", field="limit", remedy=f"use 1 to {LARGEST}")
    async with call.store() as store:
        now_ms = await store.now_ms()
        views = [lease_view(job, now_ms) for job in await store.admin.queues.leases(limit=limit)]
    if call.is_json:
        call.print_json(views)
    elif call.output is Output.IDS:
        call.print_ids(view["job_id"] for view in views)
    elif not views:
        call.say("nobody holds a job")
    else:
        made = table(
            "job", "task", "worker", "attempt", "started", "left", "", right=["attempt"], whole=["job", "left"]
        )
        call.print(
            rows(
                made,
                (
                    [
                        view["job_id"],
                        view["task"],
                        view["owner"] or "",
                        str(view["attempt"]),
                        short_time(view["started_at"]),
                        Text("ran out", "red") if view["lost"] else span(round(view["seconds_left"] * 1000)),
                        f"asked to stop ({view['cancel_requested']})" if view["cancel_requested"] else "",
                    ]
                    for view in views
                ),
            )
        )
