"""`holdfast leases`: who holds which job, and for how long."""

from __future__ import annotations

from rich.text import Text

from holdfast.cli.exits import refuse_limit
from holdfast.cli.invocation import Call
from holdfast.cli.render import Column, View
from holdfast.views.phrases import span
from holdfast.views.queues import lease_view

LARGEST = 5_000


async def leases(*, limit: int = 100, call: Call) -> None:
    """List the leases, the one that ends first at the head.

    Args:
        limit: How many at most, up to 5000.
    """
    refuse_limit(limit, LARGEST)
    async with call.store() as store:
        now_ms = await store.now_ms()
        views = [lease_view(job, now_ms) for job in await store.admin.queues.leases(limit=limit)]
    call.print_list(views, "job_id", COLUMNS, "nobody holds a job")


def _left(view: View) -> str | Text:
    return Text("ran out", "red") if view["lost"] else span(round(view["seconds_left"] * 1000))


def _asked(view: View) -> str:
    return f"asked to stop ({view['cancel_requested']})" if view["cancel_requested"] else ""


COLUMNS = (
    Column("job", "job_id", whole=True),
    Column("task"),
    Column("worker", "owner"),
    Column("attempt", right=True),
    Column("started", "started_at"),
    Column("left", _left, whole=True),
    Column("", _asked),
)
