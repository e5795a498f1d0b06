"""Each way through the house, walked once and traced: how often it is handed on, changes threads, asks the database.

`python -m tests.house.ways URL` prints the figures of one database as JSON: of whichever `holdfast` Python finds.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from holdfast import Context, Engine
from tests.house.tracing import CALLER, ELSEWHERE, Moment, Trace, tracing

ROOT = Path(__file__).resolve().parents[2]
WALKS = 5
"""What else goes on in a process may add to a walk, and takes nothing from it: the least counts."""
PATIENCE_S = 20.0
A_WHILE_S = 0.03
"""A handler takes this long, so that the worker has come to rest before it ends."""


class Figures(NamedTuple):
    hops: int
    """Functions of the product through whose hands it goes: each waits for the next."""
    threads: int
    """How often one thread hands it to another."""
    trips: int
    """How often it asks the database and waits."""
    statements: int
    """BEGIN and COMMIT among them. On PostgreSQL each is a round trip over the socket."""


def figures(moments: list[Moment]) -> Figures:
    asked = [moment for moment in moments if moment.kind == "statement"]
    return Figures(
        hops=len({name for moment in moments for name in moment.chain}),
        threads=sum(moment.kind == "handed" for moment in moments),
        trips=_trips(moments),
        statements=len(asked),
    )


def _trips(moments: list[Moment]) -> int:
    """Calls of the driver: on SQLite each ends with the answer that its thread hands over."""
    trips = 0
    under_way: dict[int, object] = {}
    for moment in moments:
        if moment.kind == "statement":
            trips += under_way.get(moment.thread) is not moment.call
            under_way[moment.thread] = moment.call
        elif moment.kind == "handed":
            under_way.pop(moment.thread, None)
    return trips


class Walk:
    """One engine whose ways are walked. Each returns its moments."""

    def __init__(self, url: str, trace: Trace) -> None:
        self.trace = trace
        self.numbers = count(1)
        self.engine = Engine(url)
        self.inside: Any = getattr(self.engine, "_inside", self.engine)  # another checkout may have no inside apart
        self.ended = threading.Event()
        self._declare()

    def _declare(self) -> None:
        trace, ended, portal = self.trace, self.ended, self.inside.portal

        def short(ctx: Context, n: int) -> int:
            trace.handler(portal.loop)
            time.sleep(A_WHILE_S)
            ctx.progress(n)
            return n

        flow = self.engine.flow("two")

        @flow.task
        def first(n: int) -> int:
            trace.handler(portal.loop)
            time.sleep(A_WHILE_S)
            trace.begin()
            return n

        @flow.task(after=first)
        def second(first: int) -> int:
            trace.handler(portal.loop)
            ended.set()
            return first

        self.flow = flow
        self.short = self.engine.task(short)
        self.idle = self.engine.task(name="idle", queue="nobody")(lambda n: n)

    def moments(self, call: Callable[[], object]) -> list[Moment]:
        self.trace.begin()
        call()
        return [moment for moment in self.trace.end() if moment.who == CALLER]

    def submit(self) -> list[Moment]:
        return self.moments(lambda: self.idle.submit(next(self.numbers)))

    def seal(self) -> list[Moment]:
        self.idle.submit(next(self.numbers))
        sealer = self._sealer()
        return self.moments(lambda: self.inside.portal.call(sealer.run_once()))

    def _sealer(self) -> Any:
        if not hasattr(self, "_kept_sealer"):
            home = first_module("holdfast.chores.sealer", "holdfast.runtime.sealer")
            self._kept_sealer = home.Sealer(self.inside.portal.call(self.inside.opened()))
            self.inside.portal.call(self._kept_sealer.run_once())
        return self._kept_sealer

    def run_a_job(self) -> list[Moment]:
        """From its submission to its end, as the worker's loops see it."""
        self.trace.begin()
        job = self.short.submit(next(self.numbers))
        until(lambda: any(moment.who == "holdfast-writer" for moment in self.trace.moments))
        job.wait()
        time.sleep(0.02)
        return self.trace.end()

    def claim(self) -> list[Moment]:
        return [moment for moment in until_a_slot_has_it(self.run_a_job()) if moment.who == "holdfast-claim"]

    def run(self) -> list[Moment]:
        return [moment for moment in self.run_a_job() if moment.who == "holdfast-slot"]

    def finish(self) -> list[Moment]:
        return [moment for moment in self.run_a_job() if moment.who == "holdfast-writer"]

    def node(self) -> list[Moment]:
        """From the end of a node's handler to the beginning of its child's."""
        self.ended.clear()
        run = self.flow.submit(n=next(self.numbers))
        assert self.ended.wait(PATIENCE_S)
        moments = self.trace.end()
        run.result(timeout=PATIENCE_S)
        last = max(n for n, moment in enumerate(moments) if moment.kind == "handler")
        written = next(n for n, moment in enumerate(moments) if moment.who == "holdfast-writer")
        before = [moment for moment in moments[:written] if moment.who == "holdfast-slot"]
        claimed = len(until_a_slot_has_it(moments[written:]))
        loops = ("holdfast-writer", "holdfast-claim")
        found = [moment for moment in moments[written : written + claimed] if moment.who in loops]
        return before + found + [moment for moment in moments[written : last + 1] if moment.who == "holdfast-slot"]

    def read(self) -> list[Moment]:
        job = self.idle.submit(next(self.numbers))
        return self.asked("GET", f"/api/jobs/{job.id}")

    def change(self) -> list[Moment]:
        job = self.idle.submit(next(self.numbers))
        return self.asked("POST", f"/api/jobs/{job.id}/cancel", {"Idempotency-Key": f"{time.time_ns()}"})

    def asked(self, method: str, path: str, headers: dict[str, str] | None = None) -> list[Moment]:
        client = self._client()
        answers: list[Any] = []

        def call() -> None:
            answers.append(self.inside.portal.call(client.request(method, path, headers=headers)))

        moments = self.moments(call)
        assert answers[0].status_code < 300, answers[0].text
        return moments

    def _client(self) -> Any:
        if not hasattr(self, "_kept_client"):
            import httpx

            self._kept_client = httpx.AsyncClient(
                transport=httpx.ASGITransport(app=self._app()), base_url="http://127.0.0.1:54322"
            )
        return self._kept_client

    def _app(self) -> Any:
        if not hasattr(self, "_kept_app"):
            self._kept_app = import_module("holdfast.api.app").create_app(self.inside)
        return self._kept_app

    def event(self) -> list[Moment]:
        """From a commit to the bytes of a client that follows."""
        came = threading.Event()
        portal = self.inside.portal
        gone = asyncio.Event()
        stream = asyncio.run_coroutine_threadsafe(self._follow(came, gone), portal.loop)
        assert came.wait(PATIENCE_S)
        time.sleep(0.03)
        came.clear()
        self.trace.begin()
        self.idle.submit(next(self.numbers))
        assert came.wait(PATIENCE_S)
        moments = self.trace.end()
        portal.loop.call_soon_threadsafe(gone.set)
        stream.result(PATIENCE_S)
        sent = next(n for n, moment in enumerate(moments) if moment.kind == "sent")
        return [moment for moment in moments[: sent + 1] if moment.who in (ELSEWHERE, "holdfast-streams")]

    async def _follow(self, came: threading.Event, gone: asyncio.Event) -> None:
        begun = False

        async def receive() -> dict[str, Any]:
            nonlocal begun
            if begun:
                await gone.wait()
                return {"type": "http.disconnect"}
            begun = True
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            if message.get("body"):
                self.trace.at("sent", sys._getframe(1))
                came.set()

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": "/api/events",
            "raw_path": b"/api/events",
            "query_string": b"",
            "root_path": "",
            "headers": [(b"host", b"127.0.0.1:54322")],
            "client": ("127.0.0.1", 5000),
            "server": ("127.0.0.1", 54322),
        }
        await self._app()(scope, receive, send)

    def close(self) -> None:
        if (hub := getattr(self._app().state, "hub", None)) is not None:
            self.inside.portal.call(hub.close())
        self.engine.close()


ALONE = ("submit", "seal", "read", "change", "event")
WITH_A_WORKER = ("claim", "run", "finish", "node")
WAYS = (*WITH_A_WORKER, *ALONE)


def first_module(*names: str) -> Any:
    for name in names:
        try:
            return import_module(name)
        except ModuleNotFoundError:
            continue
    raise ModuleNotFoundError(f"none of {', '.join(names)}")


def until_a_slot_has_it(moments: list[Moment]) -> list[Moment]:
    """Without what the worker looks for next, once a job is in a slot's hands."""
    return moments[: next(n for n, moment in enumerate(moments) if moment.who == "holdfast-slot")]


def until(found: Callable[[], bool]) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not found():
        assert time.monotonic() < end_s, f"not within {PATIENCE_S} s"
        time.sleep(0.005)


@contextmanager
def walking(url: str) -> Iterator[Walk]:
    with tracing() as trace:
        walk = Walk(url, trace)
        try:
            yield walk
        finally:
            walk.close()


def walked(url: str, checkout: Path = ROOT) -> dict[str, Figures]:
    """The figures of every way, from a process of its own: what is watched there is watched for good."""
    environment = os.environ | {"PYTHONPATH": f"{checkout / 'src'}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "tests.house.ways", url]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {way: Figures(**found) for way, found in json.loads(done.stdout.splitlines()[-1]).items()}


def walk_all(url: str) -> dict[str, tuple[Figures, list[Moment]]]:
    with walking(url) as walk:
        found = {way: least(getattr(walk, way)) for way in ALONE}
        with walk.engine.worker(queues=["default"], concurrency=2):
            found |= {way: least(getattr(walk, way)) for way in WITH_A_WORKER}
    return {way: found[way] for way in WAYS}


def least(way: Callable[[], list[Moment]]) -> tuple[Figures, list[Moment]]:
    """The least figures of a few walks, and the walk that comes nearest to them."""
    way()
    walks = [way() for _ in range(WALKS)]
    of_each = [figures(moments) for moments in walks]
    typical = Figures(*(min(column) for column in zip(*of_each, strict=True)))
    nearest = min(range(WALKS), key=lambda n: sum(abs(a - b) for a, b in zip(of_each[n], typical, strict=True)))
    return typical, walks[nearest]


def main(url: str, *, verbose: bool) -> None:
    found = walk_all(url)
    if verbose:
        for way, (_, moments) in found.items():
            print(f"== {way}")
            for moment in moments:
                print(f"  {moment.kind:9} {moment.who:16} {moment.thread % 10_000:5} {' > '.join(moment.chain)}")
    print(json.dumps({way: figures._asdict() for way, (figures, _) in found.items()}))


if __name__ == "__main__":
    main(sys.argv[1], verbose="--verbose" in sys.argv)
