"""The demo's workers: processes of their own, so that one can be killed without asking it.

    python -m holdfast.demo.crew URL

A worker runs until SIGTERM, or until its standard input ends because the demo is gone.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CONCURRENCY = 3
START_TIMEOUT_S = 20.0


def work(url: str) -> None:
    from holdfast.demo.tasks import QUEUE, night

    app = night(url).app
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())

    def listen() -> None:
        while os.read(0, 1024):  # not sys.stdin: its lock would be held when the interpreter ends
            pass
        ended.set()

    threading.Thread(target=listen, daemon=True).start()
    with app.worker(queues=[QUEUE], concurrency=CONCURRENCY, grace_s=5.0):
        print("ready", flush=True)
        ended.wait()
    app.close()


class Crew:
    """The worker processes, by name."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        self._folder = folder
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.names: dict[int, str] = {}

    def hire(self, *names: str) -> None:
        """Start workers and wait until they claim."""
        for name in names:
            with (self._folder / f"worker-{name}.log").open("ab") as log:
                process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                    [sys.executable, "-m", "holdfast.demo.crew", self._url],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    cwd=self._folder,
                )
            self._processes[name] = process
            self.names[process.pid] = name
        for name in names:
            self._await_ready(name)

    def _await_ready(self, name: str) -> None:
        process = self._processes[name]
        timer = threading.Timer(START_TIMEOUT_S, process.kill)
        timer.start()
        line = process.stdout.readline() if process.stdout else b""
        timer.cancel()
        if line.strip() != b"ready":
            raise RuntimeError(f"worker {name} did not start: see {self._folder / f'worker-{name}.log'}")

    def pid(self, name: str) -> int:
        return self._processes[name].pid

    def name_of(self, owner: str | None) -> str:
        """A worker's name from the owner of a lease; what is no worker of ours keeps its own."""
        parts = (owner or "").split(":")
        pid = int(parts[1]) if len(parts) > 2 and parts[1].isdigit() else -1
        return f"worker {self.names[pid]}" if pid in self.names else owner or ""

    def kill(self, name: str) -> None:
        """SIGKILL: it is not asked, and cannot hand anything back."""
        process = self._processes.pop(name)
        process.kill()
        process.wait()
        _close(process)

    def dismiss(self) -> list[int]:
        """SIGTERM: what runs may end, the rest is handed back. Their exit codes."""
        for process in self._processes.values():
            process.terminate()
        codes = []
        for process in self._processes.values():
            try:
                codes.append(process.wait(timeout=15))
            except subprocess.TimeoutExpired:
                process.kill()
                codes.append(process.wait())
            _close(process)
        self._processes.clear()
        return codes


@contextmanager
def crew_of(url: str, folder: Path) -> Iterator[Crew]:
    crew = Crew(url, folder)
    try:
        yield crew
    finally:
        crew.dismiss()


def _close(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


if __name__ == "__main__":
    work(sys.argv[1])
