"""A small database with a job of every kind, written through the store's own calls."""

import asyncio
import json
from collections.abc import Callable

from holdfast.catalog import BUILT_IN
from holdfast.config import sqlite_path
from holdfast.kernel.event import PROGRESS
from holdfast.kernel.job import Failure, Spec
from holdfast.kernel.lifecycle import Lifecycle, Transition
from holdfast.kernel.move import Change, move
from holdfast.kernel.outcome import Done, Outcome, Retry
from holdfast.kernel.settle import settle
from holdfast.kernel.state import Canonical, State
from holdfast.store.port import Signal, Store

START_MS = 1_700_000_000_000
START = "2023-11-14T22:13:20.000Z"
CANONICAL = {
    "queued": "queued",
    "running": "running",
    "done": "succeeded",
    "retrying": "queued",
    "waiting": "waiting",
    "pending": "queued",
    "canceled": "cancelled",
    "box": "waiting",
}
"""The jobs that `seed` makes, oldest first, and the state each ends up in."""

SPECS = [
    Spec("", "durable", "mail.send", '{"to":"ann@example.org"}', key_scope="mail", key="w-1", priority=5),
    Spec("", "durable", "mail.send", queue="run", correlation_id="order-7", max_tries=3),
    Spec("", "durable", "report.make", queue="end", max_tries=3),
    Spec("", "durable", "report.make", queue="again", max_tries=3),
    Spec("", "workflow", "etl.load", state="waiting"),
    Spec("", "pipeline", "news.brief"),
    Spec("", "crawl", "site.crawl"),
    Spec("", "sandbox", "command", state="waiting"),
]

REVIEW = Lifecycle(
    name="review",
    states=(
        State("open", Canonical.QUEUED),
        State("reading", Canonical.RUNNING),
        State("read", Canonical.SUCCEEDED),
    ),
    transitions=(
        Transition(Canonical.QUEUED, "claim", Canonical.RUNNING, "job_started"),
        Transition(Canonical.RUNNING, "succeed", Canonical.SUCCEEDED, "job_succeeded"),
        Transition(Canonical.RUNNING, "lose", Canonical.QUEUED, "job_lease_expired", opens_attempt=True),
    ),
)


class Ticks:
    """A clock that moves by a second with every look, so that no two times are equal."""

    def __init__(self) -> None:
        self.now_ms = START_MS - 1000

    def __call__(self) -> int:
        self.now_ms += 1000
        return self.now_ms


def job_id(name: str) -> str:
    return f"018bcfe5-6800-7000-8000-{list(CANONICAL).index(name) + 1:012d}"


def open_for_tests(url: str, clock: Callable[[], int] | None) -> Store:
    if path := sqlite_path(url):
        from holdfast.store.sqlite.driver import open_sqlite

        return open_sqlite(path, clock=clock, synchronous="OFF")
    from holdfast.store.postgres.driver import open_postgres

    return open_postgres(url, clock=clock)


def seed(url: str) -> None:
    asyncio.run(_seed(url))


async def _seed(url: str) -> None:
    store = open_for_tests(url, Ticks())
    try:
        await store.migrate()
        await store.register(REVIEW)
        await store.jobs.submit([spec._replace(id=job_id(name)) for name, spec in zip(CANONICAL, SPECS, strict=True)])
        for queue in ("run", "end", "again"):
            await store.jobs.claim([queue], 1, "worker-1")
        progress = {"done": 30, "total": 120, "counters": {"pages": 4}}
        await store.jobs.signal([Signal(job_id("running"), 1, PROGRESS, "worker-1", json.dumps(progress))])
        await store.jobs.signal([Signal(job_id("done"), 1, PROGRESS, "worker-1", json.dumps(progress))])
        await _end(store, "done", Done('{"pages":12}'))
        failure = Failure("network_error", "transient", "no [route] to host", {"host": "a.example"})
        await _end(store, "retrying", Retry(failure, delay_ms=5000))
        canceled = await store.reads.get(job_id("canceled"))
        assert canceled is not None
        await store.jobs.apply(move(BUILT_IN["crawl"], [canceled], "cancel", actor="ann", reason="not needed"))
    finally:
        await store.close()


async def _end(store: Store, name: str, outcome: Outcome) -> None:
    job = await store.reads.get(job_id(name))
    assert job is not None
    settled = settle(BUILT_IN[job.lifecycle], job, outcome)
    applied = await store.jobs.apply(
        [Change(BUILT_IN[job.lifecycle], settled.path, "worker-1", [settled.move], "worker-1")]
    )
    assert not applied.refused
