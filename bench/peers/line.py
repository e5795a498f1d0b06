"""What a contender's process and the bench say to each other. Only the standard library: every environment has it.

    python -m bench.peers.NAME setup URL                            prints {"version", "left", "bulk"}
    python -m bench.peers.NAME enqueue URL COUNT one|bulk LIMIT_S   "ready", is told "go", prints {"jobs"}
    python -m bench.peers.NAME enqueue URL COUNT spaced PAUSE_S     the same, with a pause after each job
    python -m bench.peers.NAME work URL TALLY                       "ready", is told "go", works until told "stop",
                                                                    prints {"handled", "waits_ns"}

Time, CPU and memory are measured from outside, for all by the same means. TALLY is a file in which the worker counts
what its handler was called for, so that the bench need not ask the database while it works.
"""

from __future__ import annotations

import asyncio
import json
import mmap
import os
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from importlib.metadata import version
from typing import Any, NoReturn

BULK = 1_000
"""So many jobs go in with one call, where a contender has a call for many."""


class Peer:
    """One contender, at one database. A subclass whose coroutines never wait sets `in_loop` to False."""

    package: str
    left: str
    """How many jobs are not finished yet, as the database knows it."""

    bulk = True
    in_loop = True

    def __init__(self, url: str) -> None:
        self.url = url

    async def setup(self) -> None:
        """Make the tables."""
        raise NotImplementedError

    async def open(self) -> None:
        """Be ready to enqueue: nothing of this is measured."""
        raise NotImplementedError

    async def enqueue(self, sent_ns: int) -> None:
        """One job, durably. Its handler gets `sent_ns`."""
        raise NotImplementedError

    async def enqueue_many(self, count: int) -> None:
        """Many by one call, or by many where there is none."""
        for _ in range(count):
            await self.enqueue(0)

    async def prepare(self, handle: Callable[[int], None]) -> None:
        """Be ready to work: every job calls `handle` with its argument and does nothing else."""
        raise NotImplementedError

    async def work(self) -> None:
        """Until the process ends."""
        raise NotImplementedError


class Tally:
    """Counts calls of the handler, for whoever looks at the file; keeps the waits of jobs that say when they left."""

    def __init__(self, path: str) -> None:
        with open(path, "r+b") as file:
            self._cell = memoryview(mmap.mmap(file.fileno(), 8)).cast("q")
        self._lock = threading.Lock()
        self.waits_ns: list[int] = []

    def handle(self, sent_ns: int) -> None:
        now_ns = time.monotonic_ns()
        with self._lock:
            self._cell[0] += 1
        if sent_ns:
            self.waits_ns.append(now_ns - sent_ns)

    @property
    def handled(self) -> int:
        return self._cell[0]


answers = sys.stdout


def main(peer: type[Peer]) -> None:
    # What a library prints must not come between what is said here.
    global answers  # noqa: PLW0603 - the process has one standard output
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    command, url, *rest = sys.argv[1:]
    chosen: Callable[..., Coroutine[Any, Any, None]] = {"setup": _setup, "enqueue": _enqueue, "work": _work}[command]
    running = chosen(peer(url), *rest)
    if peer.in_loop:
        asyncio.run(running)
    else:
        _run_without_loop(running)


def _run_without_loop(running: Coroutine[Any, Any, None]) -> None:
    # Some synchronous libraries behave differently where an event loop runs.
    try:
        running.send(None)
    except StopIteration:
        return
    raise RuntimeError("a synchronous contender has waited for an event loop")


async def _setup(peer: Peer) -> None:
    await peer.setup()
    say({"version": version(peer.package), "left": peer.left, "bulk": peer.bulk})


async def _enqueue(peer: Peer, count: str, how: str, seconds: str) -> None:
    await peer.open()
    wait_for_go()
    jobs = int(count)
    if how == "spaced":
        for _ in range(jobs):
            await peer.enqueue(time.monotonic_ns())
            await pause(peer, float(seconds))
        done = jobs
    else:
        done = await _enqueue_until(peer, jobs, how == "bulk", time.monotonic() + float(seconds))
    say({"jobs": done})
    sys.stdin.readline()  # "stop": until then its accounts are read
    leave()


async def _enqueue_until(peer: Peer, jobs: int, bulk: bool, until_s: float) -> int:
    done, step = 0, BULK if bulk and peer.bulk else 1
    while done < jobs and time.monotonic() < until_s:
        some = min(step, jobs - done)
        await (peer.enqueue_many(some) if bulk and peer.bulk else peer.enqueue(0))
        done += some
    return done


async def pause(peer: Peer, seconds: float) -> None:
    if peer.in_loop:
        await asyncio.sleep(seconds)
    else:
        time.sleep(seconds)  # noqa: ASYNC251 - there is no loop here


async def _work(peer: Peer, tally_path: str) -> None:
    tally = Tally(tally_path)
    await peer.prepare(tally.handle)
    wait_for_go()
    threading.Thread(target=_obey, args=(tally,), daemon=True).start()
    await peer.work()
    raise RuntimeError("a worker ended by itself")


def _obey(tally: Tally) -> None:
    sys.stdin.readline()  # "stop", or the bench is gone and nobody hears the answer
    try:
        say({"handled": tally.handled, "waits_ns": tally.waits_ns})
    finally:
        leave()


def wait_for_go() -> None:
    print("ready", file=answers, flush=True)
    if sys.stdin.readline().strip() != "go":
        leave()


def say(what: dict[str, Any]) -> None:
    print(json.dumps(what), file=answers, flush=True)


def leave() -> NoReturn:
    """At once: how a contender shuts down is not measured, and its database is thrown away."""
    os._exit(0)
