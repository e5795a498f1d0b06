"""`holdfast bench`: this machine's own figures."""

from __future__ import annotations

import asyncio
import os
import secrets
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode, urlsplit, urlunsplit

from holdfast.cli.exits import UsageError
from holdfast.cli.invocation import Call
from holdfast.cli.opened import plainly
from holdfast.cli.render import rows, table
from holdfast.config import sqlite_path, without_password
from holdfast.kernel.errors import HoldfastError

if TYPE_CHECKING:
    from holdfast.runtime.engine import Engine
    from holdfast.runtime.task import Task

BULK = 1_000
MOST_JOBS = 200_000
"""However fast the machine is: a bench should not fill its disk."""

CONCURRENCY = 100
IDLE_JOBS = 20
LOOK_EVERY_S = 0.002
START_S = 30.0


class Measure(NamedTuple):
    """One thing that was measured: so many jobs in so much time."""

    name: str
    what: str
    jobs: int
    seconds: float

    @property
    def per_s(self) -> float:
        return self.jobs / self.seconds

    def data(self) -> dict[str, float]:
        return {"jobs": self.jobs, "seconds": round(self.seconds, 3), "per_s": round(self.per_s, 1)}


def bench(*, seconds: float = 10.0, call: Call) -> None:
    """Measure this machine: submit one by one, submit in bulk, drain, and how soon an idle worker starts a job.

    A database of its own is made beside yours, on the same disk or server, and removed at the end.

    Args:
        seconds: How long it may take, about.
    """
    if not seconds >= 1:
        raise UsageError(f"--seconds {seconds:g} is too short", field="seconds", remedy="give 1 or more")
    url = call.settings.db
    with plainly(url), throw_away(url) as place:
        call.say(f"about {seconds:.0f} s on a database beside {without_password(url)}")
        measures, wait_ms = measure(place, seconds)
    data = {
        "db": without_password(url),
        "cpus": os.cpu_count(),
        **{each.name: each.data() for each in measures},
        "idle": {"jobs": IDLE_JOBS, "submit_to_start_ms": round(wait_ms, 2)},
    }
    lines = [[each.what, f"{each.jobs:,}", f"{each.seconds:.2f}", f"{each.per_s:,.0f}"] for each in measures]
    lines.append([f"submit → start, idle worker: {wait_ms:.1f} ms", str(IDLE_JOBS), "", ""])
    shown = table("what", "jobs", "seconds", "jobs/s", right=["jobs", "seconds", "jobs/s"])
    call.print_record(data, rows(shown, lines), without_password(url))


def measure(url: str, seconds: float) -> tuple[list[Measure], float]:
    """The measures, and the median wait of a job for an idle worker."""
    from holdfast.runtime.engine import Engine

    engine = Engine(url)
    started = StartCounter()

    @engine.task
    async def noop(sent_ns: int) -> None:
        started.tell(sent_ns)

    try:
        engine._inside.portal.call(engine._inside.opened())
        one = _submitting("submit_one", "submit, one by one", lambda: len([noop.submit(0)]), seconds * 0.2)
        some = [(0,)] * BULK
        bulk = _submitting(
            "submit_bulk", f"submit, {BULK:,} a call", lambda: len(noop.submit_many(some)), seconds * 0.2
        )
        drain, wait_ms = _draining(engine, noop, started, one.jobs + bulk.jobs, seconds * 0.5)
    finally:
        engine.close()
    return [one, bulk, drain], wait_ms


class StartCounter:
    """Counts handlers as they start; told when a job left, it keeps how long that one waited."""

    def __init__(self) -> None:
        self.jobs = 0
        self.waits_ns: list[int] = []
        self.any_started = threading.Event()
        self.one_waited = threading.Event()

    def tell(self, sent_ns: int) -> None:
        self.jobs += 1
        if self.jobs == 1:
            self.any_started.set()
        if sent_ns:
            self.waits_ns.append(time.monotonic_ns() - sent_ns)
            self.one_waited.set()


def _submitting(name: str, what: str, submit: Callable[[], int], limit_s: float) -> Measure:
    jobs, from_s = 0, time.perf_counter()
    while (took_s := time.perf_counter() - from_s) < limit_s and jobs < MOST_JOBS:
        jobs += submit()
    return Measure(name, what, jobs, took_s)


def _draining(
    engine: Engine, noop: Task[[int], None], started: StartCounter, queued: int, limit_s: float
) -> tuple[Measure, float]:
    """Drain what is queued for so long, then let single jobs come to the idle worker.

    The clock runs from the first job, when everything is up, until the last one that was started is written.
    """
    with engine.worker(concurrency=CONCURRENCY):
        _must(started.any_started.wait(START_S))
        ahead, from_s = started.jobs, time.perf_counter()
        while started.jobs < queued and time.perf_counter() - from_s < limit_s:
            time.sleep(LOOK_EVERY_S)
    drain = Measure("drain", f"drain, concurrency {CONCURRENCY}", started.jobs - ahead, time.perf_counter() - from_s)
    with engine.worker(queues=("idle",), concurrency=CONCURRENCY):
        waiting = noop.options(queue="idle")
        for _ in range(IDLE_JOBS):
            started.one_waited.clear()
            waiting.submit(time.monotonic_ns())
            _must(started.one_waited.wait(START_S))
    return drain, sorted(started.waits_ns)[len(started.waits_ns) // 2] / 1e6


def _must(happened: bool) -> None:
    if not happened:
        raise HoldfastError(f"no job was started within {START_S:.0f} s", remedy="see `holdfast doctor`")


@contextmanager
def throw_away(url: str) -> Iterator[str]:
    """A database where the one at `url` is or would be, for as long as the block runs."""
    path = sqlite_path(url)
    if path is None:
        yield from _schema(url)
        return
    folder = next(each for each in path.absolute().parents if each.is_dir())
    with tempfile.TemporaryDirectory(prefix=".holdfast-bench-", dir=folder) as made:
        yield f"sqlite:///{Path(made) / 'bench.db'}"


def _schema(url: str) -> Iterator[str]:
    """In PostgreSQL a schema of its own: the role may not be allowed to make a database."""
    name = f"holdfast_bench_{secrets.token_hex(4)}"
    asyncio.run(_execute(url, f"CREATE SCHEMA {name}"))
    parts = urlsplit(url)
    query = "&".join(filter(None, [parts.query, urlencode({"search_path": name})]))
    try:
        yield urlunsplit(parts._replace(query=query))
    finally:
        asyncio.run(_execute(url, f"DROP SCHEMA {name} CASCADE"))


async def _execute(url: str, statement: str) -> None:
    import asyncpg

    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()
