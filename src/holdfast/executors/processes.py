"""Processes for handlers that must not share the worker's: spawned, one job at a time each, kept warm and used again.

A handler that hogs the interpreter, leaks, or crashes does so alone. What it may say while it runs and how it ends is
the business of whoever asks: here it is frames.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from holdfast.executors import frames
from holdfast.executors.frames import Frame
from holdfast.executors.port import Crashed
from holdfast.kernel.errors import ErrorClass
from holdfast.kernel.job import Failure

START = "from holdfast.executors.process_main import main; main()"
LARGEST_BUFFER = 1 << 20
CLOSE_S = 2.0

Heard = Callable[[Frame], Awaitable[Frame | None]]


class Child:
    """One process. `run` once at a time; `tell` and `kill` at any time."""

    def __init__(
        self, process: asyncio.subprocess.Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self.idle = True

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    async def run(self, request: Frame, heard: Heard) -> Frame | Crashed:
        """Send a request and return the frame that ends it; what comes before goes to `heard`, and its answer back."""
        self.idle = False
        self.tell(request)
        while (frame := await frames.read(self._reader)) is not None:
            if frame[0] == "end":
                self.idle = True
                return frame
            if (answer := await heard(frame)) is not None:
                self.tell(answer)
        return _crashed(await self._process.wait())

    def tell(self, frame: Frame) -> None:
        if not self._writer.is_closing():
            self._writer.write(frames.pack(frame))

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def close(self, grace_s: float = CLOSE_S) -> None:
        """End it: politely when it is idle."""
        self._writer.close()
        if not self.idle:
            self.kill()
        try:
            async with asyncio.timeout(grace_s):
                await self._process.wait()
        except TimeoutError:
            self.kill()
            await self._process.wait()


class Processes:
    """Hands out idle processes, and starts one when there is none."""

    def __init__(self, entry: str) -> None:
        self._entry = entry
        self._idle: list[Child] = []
        self._all: set[Child] = set()
        self._closing: set[asyncio.Task[None]] = set()

    async def take(self) -> Child:
        while self._idle:
            child = self._idle.pop()
            if child.alive:
                return child
            self._forget(child)
        child = await self._start()
        self._all.add(child)
        return child

    def give_back(self, child: Child) -> None:
        """One that ended its request is used again; any other is ended for good."""
        if child.idle and child.alive:
            self._idle.append(child)
        else:
            self._forget(child)

    def _forget(self, child: Child) -> None:
        self._all.discard(child)
        child.kill()
        task = asyncio.get_running_loop().create_task(child.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _start(self) -> Child:
        ours, theirs = socket.socketpair()
        try:
            ours.setblocking(False)
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-c",
                START,
                str(theirs.fileno()),
                self._entry,
                pass_fds=[theirs.fileno()],
                stdin=asyncio.subprocess.DEVNULL,
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        reader, writer = await asyncio.open_connection(sock=ours, limit=LARGEST_BUFFER)
        writer.write(frames.pack(["path", sys.path]))
        return Child(process, reader, writer)

    async def close(self, grace_s: float) -> None:
        await asyncio.gather(*(child.close(grace_s) for child in self._all), *self._closing)
        self._all.clear()
        self._idle.clear()


def _crashed(code: int) -> Crashed:
    """How it is told that a process ended before its handler did."""
    name = _signal_name(-code) if code < 0 else None
    how = f"was killed by {name}" if name else f"exited with {code}"
    context: dict[str, object] = {"signal": name} if name else {"exit_code": code}
    message = f"the process {how} before its handler ended"
    return Crashed(Failure("process_died", ErrorClass.TRANSIENT.value, message, context))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def main_file() -> dict[str, Any]:
    """How another process can load the script that this one runs, as `python -m` or `python file` gave it."""
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name != "__main__":
        return {"name": spec.name}
    path = getattr(main, "__file__", None)
    return {"path": path} if path else {}
