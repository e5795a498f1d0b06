"""One process of a contender: started, told to go, asked, stopped. See bench/peers/line.py for what is said."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from bench.meter import tree

ROOT = Path(__file__).resolve().parents[1]
START_S = 60.0
WORDS_OF_FAILURE = 300


class HandFailed(Exception):
    """A process that ended, hung, or said something else; with the last thing that it wrote."""


class Hand:
    def __init__(self, process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
        self._process = process
        self._errors = errors
        self._read = b""

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_ready(self) -> None:
        said = self._line(START_S)
        if said != "ready":
            raise HandFailed(f"said {said!r} instead of ready")

    def say(self, word: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(f"{word}\n".encode())
            self._process.stdin.flush()

    def answer(self, timeout_s: float) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._line(timeout_s))
        return found

    def freeze(self) -> None:
        """Stop the process and those below it where they are."""
        self._signal(signal.SIGSTOP)

    def kill(self) -> None:
        """End the process and those below it, frozen or not."""
        self._signal(signal.SIGKILL)
        self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        for pid in reversed(tree(self.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def check(self) -> None:
        """Fails when the process is gone."""
        if self._process.poll() is not None:
            raise HandFailed(f"ended with {self._process.returncode}: {self._last_words()}")

    def _line(self, timeout_s: float) -> str:
        assert self._process.stdout is not None
        until_s = time.monotonic() + timeout_s
        file = self._process.stdout.fileno()
        while b"\n" not in self._read:
            left_s = until_s - time.monotonic()
            if left_s <= 0 or not select.select([file], [], [], left_s)[0]:
                raise HandFailed(f"said nothing for {timeout_s:.0f} s: {self._last_words()}")
            if not (some := os.read(file, 1 << 20)):
                self._process.wait(START_S)
                raise HandFailed(f"ended with {self._process.returncode}: {self._last_words()}")
            self._read += some
        line, _, self._read = self._read.partition(b"\n")
        return line.decode().strip()

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return (lines[-1] if lines else "nothing on stderr")[-WORDS_OF_FAILURE:]


@contextlib.contextmanager
def hand(python: Path, name: str, *arguments: object) -> Iterator[Hand]:
    """A contender's process, killed at the end if it is still there."""
    # -P keeps the folder of the scripts off the path, where their names hide the packages that they import.
    command = [str(python), "-P", "-m", f"bench.peers.{name}", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=errors, env=environment, cwd=folder)
        started = Hand(process, errors)
        try:
            yield started
        finally:
            if process.poll() is None:
                started.kill()
            for end in (process.stdin, process.stdout):
                assert end is not None
                with contextlib.suppress(BrokenPipeError):
                    end.close()
