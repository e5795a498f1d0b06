"""Sees how a call is handed on while it runs: who waits for each statement, and which thread wakes which.

Nothing of the product is touched: what is watched is what every way has to pass, the two database drivers and the
means by which one thread hands something to another.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import sqlite3
import sys
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, CoroutineType, FrameType, GeneratorType
from typing import Any, NamedTuple

import holdfast

PRODUCT = str(Path(holdfast.__file__).parent)
CALLER = "caller"
"""Whoever asked from outside, and what runs for that in the engine's loop."""
ELSEWHERE = "elsewhere"
NOT_WAITED_FOR = ("announce", "listen")
"""Functions of the drivers that give hints to others and hear them: the way goes on without."""


class Moment(NamedTuple):
    """`kind` is "statement", "handed" (to another thread), "handler" or "sent" (to a client)."""

    kind: str
    who: str
    thread: int
    chain: tuple[str, ...]
    """The functions of the product that wait for it, from the one who asked."""
    call: FrameType | None = None
    """The driver's call that a statement belongs to."""


class Origin(NamedTuple):
    """Who handed something to a thread, and who waited there."""

    who: str
    chain: tuple[str, ...]
    turn: int


NOBODY = Origin(ELSEWHERE, (), -1)
_asked: contextvars.ContextVar[Origin] = contextvars.ContextVar("asked", default=NOBODY)


class Trace:
    """What happened since `begin`. One at a time in a process, and only one store is watched."""

    def __init__(self) -> None:
        self.moments: list[Moment] = []
        self.recording = False
        self._turn = 0
        self._of_condition: dict[int, deque[Origin]] = defaultdict(lambda: deque(maxlen=64))
        self._waits_on: dict[int, int] = {}
        self._of_thread: dict[int, Origin] = {}

    def begin(self) -> None:
        self._turn += 1
        self.moments = []
        self.recording = True

    def end(self) -> list[Moment]:
        self.recording = False
        return self.moments

    def at(self, kind: str, frame: FrameType | None) -> None:
        """Something happens here, in this thread."""
        origin = self._origin(frame)
        thread = threading.get_ident()
        if self.recording:
            call = _driver_call(frame) if kind == "statement" else None
            self.moments.append(Moment(kind, origin.who, thread, origin.chain, call))
        if kind == "handed":
            self._of_thread.pop(thread, None)  # whatever this thread does next is for another

    def handler(self, loop: asyncio.AbstractEventLoop) -> None:
        """A handler begins in this thread: who waits for it in the loop is the slot that is busy."""
        busy = max((_suspended(task) for task in _tasks(loop, "holdfast-slot")), key=len, default=())
        origin = self._of_thread[threading.get_ident()] = Origin("holdfast-slot", busy, self._turn)
        chain = _distinct([*origin.chain, *_stack(sys._getframe())])
        if self.recording:
            self.moments.append(Moment("handler", origin.who, threading.get_ident(), chain))

    def woken(self, condition: threading.Condition) -> None:
        """A thread that waits on a condition is woken."""
        frame = sys._getframe(2)
        if self._waits_on.get(threading.main_thread().ident or 0) == id(condition):
            self._given_to(threading.current_thread())
            self._of_thread.pop(threading.get_ident(), None)  # whatever this thread does next is for another
            if self.recording:  # the answer, to who asked
                self.moments.append(Moment("handed", CALLER, threading.get_ident(), ()))
            return
        self._of_condition[id(condition)].append(self._origin(frame))
        self.at("handed", frame)

    def waits(self, condition: threading.Condition) -> None:
        self._waits_on[threading.get_ident()] = id(condition)

    def waited(self) -> None:
        if threading.current_thread() is threading.main_thread():
            self._waits_on.pop(threading.get_ident(), None)

    def posted(self, loop: Any, context: contextvars.Context | None) -> contextvars.Context | None:
        """Something is given to a loop, from its own thread or from another."""
        if loop._thread_id in (None, threading.get_ident()):
            return context
        frame = sys._getframe(2)
        context = contextvars.copy_context() if context is None else context
        context.run(_asked.set, self._origin(frame))
        self.at("handed", frame)
        return context

    def put(self) -> None:
        self.at("handed", sys._getframe(2))

    def _origin(self, frame: FrameType | None) -> Origin:
        chain = _stack(frame)
        try:
            task = asyncio.current_task()
        except RuntimeError:
            task = None
        if task is not None:
            asked = _asked.get()
            if task.get_name().startswith("holdfast-"):
                return Origin(task.get_name(), chain, self._turn)
            if asked.turn != self._turn or any(name.rpartition(".")[2] in NOT_WAITED_FOR for name in chain):
                return Origin(ELSEWHERE, chain, self._turn)
            return Origin(asked.who, _distinct([*asked.chain, *chain]), self._turn)
        before = self._given_to(threading.current_thread())
        return Origin(before.who, _distinct([*before.chain, *chain]), self._turn)

    def _given_to(self, thread: threading.Thread) -> Origin:
        """For whom a thread works: what it was given first comes first."""
        if thread is threading.main_thread():
            return Origin(CALLER, (), self._turn)
        number = threading.get_ident()
        if number not in self._of_thread:
            given = self._of_condition[self._waits_on.get(number, 0)]
            self._of_thread[number] = given.popleft() if given else NOBODY
        return self._of_thread[number]


def _stack(frame: FrameType | None) -> tuple[str, ...]:
    """The product's functions on a stack, and the scripts that they drive, outermost first."""
    names: list[str] = []
    while frame is not None and frame.f_code.co_name != "_run_once":  # below it is the event loop
        if frame.f_code.co_filename.startswith(PRODUCT):
            driven = [held for held in frame.f_locals.values() if isinstance(held, GeneratorType)]
            names += [name for script in driven for name in reversed(_driven(script))]
            names.append(_name(frame.f_code))
        frame = frame.f_back
    return _distinct(reversed(names))


def _driver_call(frame: FrameType | None) -> FrameType | None:
    """The outermost function of a driver on the stack."""
    found = None
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(PRODUCT) and ("/sqlite" in name or "/postgres" in name):
            found = frame
        frame = frame.f_back
    return found


def _driven(script: GeneratorType[Any, Any, Any]) -> list[str]:
    names: list[str] = []
    step: Any = script
    while isinstance(step, GeneratorType):
        if step.gi_code.co_filename.startswith(PRODUCT):
            names.append(_name(step.gi_code))
        step = step.gi_yieldfrom
    return names


def _suspended(task: asyncio.Task[Any]) -> tuple[str, ...]:
    names: list[str] = []
    step: Any = task.get_coro()
    while isinstance(step, CoroutineType):
        if step.cr_code.co_filename.startswith(PRODUCT):
            names.append(_name(step.cr_code))
        step = step.cr_await
    return tuple(names)


def _tasks(loop: asyncio.AbstractEventLoop, name: str) -> list[asyncio.Task[Any]]:
    return [task for task in asyncio.all_tasks(loop) if task.get_name() == name]


def _name(code: CodeType) -> str:
    return f"{code.co_filename.removeprefix(PRODUCT).strip('/')}:{code.co_qualname}"


def _distinct(names: Any) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys(names) if not name.endswith("comp>") and "genexpr" not in name)


@contextmanager
def tracing() -> Iterator[Trace]:
    """Watches engines that are opened inside the block."""
    trace = Trace()
    with _patched(trace):
        yield trace


@contextmanager
def _patched(trace: Trace) -> Iterator[None]:
    kept: list[tuple[Any, str, Any]] = []

    def replace(owner: Any, name: str, value: Any) -> None:
        kept.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    _watch_sqlite(trace, replace)
    _watch_postgres(trace, replace)
    _watch_threads(trace, replace)
    try:
        yield
    finally:
        for owner, name, value in reversed(kept):
            setattr(owner, name, value)


Replace = Callable[[Any, str, Any], None]


def _watch_sqlite(trace: Trace, replace: Replace) -> None:
    connect = sqlite3.connect

    class Cursor(sqlite3.Cursor):
        def execute(self, text: str, *parameters: Any) -> Cursor:
            _seen(text)
            super().execute(text, *parameters)
            return self

        def executemany(self, text: str, *parameters: Any) -> Cursor:
            _seen(text)
            super().executemany(text, *parameters)
            return self

    class Connection(sqlite3.Connection):
        def cursor(self, factory: Any = Cursor) -> Any:
            return super().cursor(factory)

        def execute(self, text: str, *parameters: Any) -> Any:
            return self.cursor().execute(text, *parameters)

        def executemany(self, text: str, *parameters: Any) -> Any:
            return self.cursor().executemany(text, *parameters)

    def _seen(text: str) -> None:
        if not text.startswith("PRAGMA"):
            trace.at("statement", sys._getframe(3))

    replace(sqlite3, "connect", lambda *args, **kwargs: connect(*args, **({"factory": Connection} | kwargs)))


def _watch_postgres(trace: Trace, replace: Replace) -> None:
    try:
        import asyncpg
    except ModuleNotFoundError:
        return
    for name in ("execute", "executemany", "fetch", "fetchval", "fetchrow"):
        replace(asyncpg.Connection, name, _seen_by(trace, getattr(asyncpg.Connection, name)))


def _seen_by(trace: Trace, call: Any) -> Any:
    async def seen(connection: Any, *args: Any, **kwargs: Any) -> Any:
        trace.at("statement", sys._getframe(1))
        return await call(connection, *args, **kwargs)

    return seen


def _watch_threads(trace: Trace, replace: Replace) -> None:
    notify, wait = threading.Condition.notify, threading.Condition.wait
    post = asyncio.BaseEventLoop.call_soon_threadsafe

    def watched_notify(condition: threading.Condition, n: int = 1) -> None:
        if n:
            trace.woken(condition)
        notify(condition, n)

    def watched_wait(condition: threading.Condition, timeout: float | None = None) -> bool:
        trace.waits(condition)
        try:
            return wait(condition, timeout)
        finally:
            trace.waited()

    def watched_post(loop: Any, callback: Any, *args: Any, context: Any = None) -> Any:
        return post(loop, callback, *args, context=trace.posted(loop, context))

    class Queue(queue.SimpleQueue):
        def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
            trace.put()
            super().put(item, block, timeout)

    replace(threading.Condition, "notify", watched_notify)
    replace(threading.Condition, "wait", watched_wait)
    replace(asyncio.BaseEventLoop, "call_soon_threadsafe", watched_post)
    replace(queue, "SimpleQueue", Queue)
