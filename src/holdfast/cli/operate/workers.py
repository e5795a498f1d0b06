"""`holdfast workers` and `leases`: who works, on which queues, and who holds which job."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter
from rich.text import Text

from holdfast.cli.exits import refuse_limit
from holdfast.cli.invocation import Call
from holdfast.cli.render import Column, View
from holdfast.views.phrases import span
from holdfast.views.queues import ALIVE_MS, lease_view, worker_view

LARGEST = 5_000


async def workers(*, everybody: Annotated[bool, Parameter(name=["--all", "-a"])] = False, call: Call) -> None:
    """List the workers that are alive.

    Args:
        everybody: Those too that were not seen for a while.
    """
    async with call.store() as store:
        now_ms = await store.now_ms()
        views = [worker_view(worker, now_ms) for worker in await store.admin.workers.list()]
    shown = [view for view in views if everybody or view["alive"]]
    gone = f" ({len(views)} on record, --all shows them)" if views else ""
    nobody = f"no worker was seen in the last {ALIVE_MS // 1000} s{gone}; `holdfast worker module:app` starts one"
    call.print_list(shown, "owner", WORKERS, nobody)


def _stats(view: View) -> str | Text:
    return (
        ", ".join(f"{name} {value}" for name, value in view["stats"].items()) if view["alive"] else Text("gone", "red")
    )


WORKERS = (
    Column("worker", "owner", whole=True),
    Column("queues", lambda view: ", ".join(view["queues"])),
    Column("slots", "concurrency", right=True, whole=True),
    Column("started", "started_at"),
    Column("seen", "seen_at"),
    Column("", _stats),
)


async def leases(*, limit: int = 100, call: Call) -> None:
    """List the leases, the one that ends first at the head.

    Args:
        limit: How many at most, up to 5000.
    """
    refuse_limit(limit, LARGEST)
    async with call.store() as store:
        now_ms = await store.now_ms()
        views = [lease_view(job, now_ms) for job in await store.admin.queues.leases(limit=limit)]
    call.print_list(views, "job_id", LEASES, "nobody holds a job")


def _left(view: View) -> str | Text:
    return Text("ran out", "red") if view["lost"] else span(round(view["seconds_left"] * 1000))


def _asked(view: View) -> str:
    return f"asked to stop ({view['cancel_requested']})" if view["cancel_requested"] else ""


LEASES = (
    Column("job", "job_id", whole=True),
    Column("task"),
    Column("worker", "owner"),
    Column("attempt", right=True),
    Column("started", "started_at"),
    Column("left", _left, whole=True),
    Column("", _asked),
)
