"""Workers for tests: in this process, or as processes of their own."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from holdfast import Engine
from holdfast.chores.runner import Chores
from holdfast.kernel.job import Job
from holdfast.worker.worker import Worker

ROOT = Path(__file__).resolve().parents[1]
T = TypeVar("T")


@contextlib.contextmanager
def working(
    app: Engine, *, heartbeat: bool = False, chores: bool = False, grace_s: float = 5.0, **options: Any
) -> Iterator[Worker]:
    """A worker in this process, with no more beside it than the test is about."""

    async def start() -> tuple[Worker, Chores | None]:
        worker = Worker(app._inside, heartbeat=heartbeat, **options)
        await worker.start()
        keeping = Chores(await app._inside.opened()) if chores else None
        if keeping is not None:
            keeping.start()
        return worker, keeping

    worker, keeping = app._inside.portal.call(start())
    try:
        yield worker
    finally:
        app._inside.portal.call(worker.stop(grace_s))
        if keeping is not None:
            app._inside.portal.call(keeping.stop())


def until(found: Callable[[], T], timeout_s: float = 20.0) -> T:
    """Wait for something that is true."""
    end_s = time.monotonic() + timeout_s
    while not (value := found()):
        assert time.monotonic() < end_s, f"not within {timeout_s} s"
        time.sleep(0.01)
    return value


def events_of(app: Engine, job_id: str) -> list[Any]:
    async def read() -> list[Any]:
        return list(await (await app._inside.opened()).reads.events(job_id))

    return app._inside.portal.call(read())


def signals_of(app: Engine, job_id: str) -> list[Any]:
    async def read() -> list[Any]:
        return list(await (await app._inside.opened()).reads.signals(job_id))

    return app._inside.portal.call(read())


def job_of(app: Engine, job_id: str) -> Job:
    """The row as the database has it."""
    return app._inside.portal.call(app._inside.ajob(job_id))


class WorkerProcess:
    """A worker as users start it; what it says is in its log."""

    def __init__(self, url: str, log: Path, concurrency: int = 4, grace_s: float = 10.0, chores: bool = True) -> None:
        self.log = log
        arguments = [url, str(concurrency), str(grace_s), "chores" if chores else "none"]
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.app", *arguments],
                cwd=ROOT,
                env=os.environ | {"PYTHONUNBUFFERED": "1"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def stop_between_writes(self, url: str) -> None:
        """SIGSTOP, and not in the middle of a write: SQLite's one lock would stay with it, and nobody else could."""
        if not url.startswith("sqlite:///"):
            self.send(signal.SIGSTOP)
            return
        lock = sqlite3.connect(url.removeprefix("sqlite:///"), timeout=20, isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        self.send(signal.SIGSTOP)
        until(lambda: "T" in Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2])
        lock.close()

    def wait(self, timeout_s: float = 30.0) -> int:
        return self._process.wait(timeout_s)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@contextlib.contextmanager
def worker_process(url: str, log: Path, **options: Any) -> Iterator[WorkerProcess]:
    worker = WorkerProcess(url, log, **options)
    try:
        yield worker
    finally:
        worker.kill()
