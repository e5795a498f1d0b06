"""Many light processes: one parent loads the code and forks; every connection is opened behind the fork."""

import contextlib
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.load.sites import Site

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Hand:
    """One process. Its report is a file that it appends to, so that what it said outlives it."""

    name: str
    pid: int
    watch: int
    report: Path

    def send(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.watch, number)

    def kill(self) -> None:
        """SIGKILL, and back only when the process is gone."""
        self.send(signal.SIGKILL)
        self.join()

    def join(self, timeout_s: float = 240) -> None:
        poll = select.poll()
        poll.register(self.watch, select.POLLIN)
        assert poll.poll(timeout_s * 1000), f"{self.name} is still at it after {timeout_s} s"

    def said(self, word: str) -> list[list[Any]]:
        """What it reported under a word. A line that a kill cut short was never said."""
        lines = [json.loads(line) for line in self.report.read_text().splitlines(True) if line.endswith("\n")]
        return [line[1:] for line in lines if line[0] == word]

    def wait_for(self, word: str, timeout_s: float = 60) -> list[Any]:
        deadline = time.monotonic() + timeout_s
        while not (found := self.said(word)):
            assert not self.said("error"), self.said("error")
            assert time.monotonic() < deadline, f"{self.name} never said {word}: {self.report.read_text()}"
            time.sleep(0.005)
        return found[0]


class Crew:
    """The parent of the processes of one test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._gate = folder / "gate"
        self._gate.touch()
        self._parent = subprocess.Popen(
            [sys.executable, "-m", "tests.load.zygote"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.hands: list[Hand] = []

    def start(self, task: str, site: Site, **arguments: Any) -> Hand:
        assert self._parent.stdin
        assert self._parent.stdout
        name = f"{task}-{len(self.hands)}"
        report = self._folder / f"{name}.jsonl"
        report.touch()
        arguments |= {"site": site, "name": name, "gate": str(self._gate)}
        order = {"task": task, "report": str(report), "arguments": arguments}
        self._parent.stdin.write(json.dumps(order).encode() + b"\n")
        self._parent.stdin.flush()
        pid = int(self._parent.stdout.readline())
        hand = Hand(name, pid, os.pidfd_open(pid), report)
        self.hands.append(hand)
        return hand

    @contextlib.contextmanager
    def held_back(self) -> Iterator[None]:
        """Processes that are started in here wait at the gate until the block ends, then run at once."""
        with self._gate.open() as gate:
            fcntl.flock(gate, fcntl.LOCK_EX)
            yield

    def said(self, word: str) -> list[tuple[str, list[Any]]]:
        return [(hand.name, line) for hand in self.hands for line in hand.said(word)]

    def join(self, timeout_s: float = 240) -> None:
        for hand in self.hands:
            hand.join(timeout_s)
        said = self.said("error")
        assert said == [], said

    def close(self) -> None:
        for hand in self.hands:
            hand.send(signal.SIGKILL)
            os.close(hand.watch)
        self._parent.communicate()


@contextlib.contextmanager
def crew(folder: Path) -> Iterator[Crew]:
    made = Crew(folder)
    try:
        yield made
    finally:
        made.close()
