"""Runs one handler where its task says, and says what it ended with."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast.executors import ending
from holdfast.executors.compensation import compensate, failed_for_good
from holdfast.executors.frames import Frame
from holdfast.executors.links import FrameLink, LoopLink, ThreadLink
from holdfast.executors.process_child import ENTRY, unpack_outcome
from holdfast.executors.processes import Child, ProcessDiedError, Processes, main_file
from holdfast.executors.threads import Threads
from holdfast.kernel import outcome as o
from holdfast.kernel.errors import ErrorClass
from holdfast.kernel.job import Failure, Job
from holdfast.kernel.move import Follow
from holdfast.observe import tracing
from holdfast.systems.flow.nodes import Nodes, node_of
from holdfast.tasks.context import Context, JobStopped
from holdfast.worker.running import Running

if TYPE_CHECKING:
    from holdfast.runtime.engine import Engine
    from holdfast.store.port import Store

RAISED = (Exception, JobStopped, SystemExit, KeyboardInterrupt, asyncio.CancelledError)
"""What a handler may raise and a worker outlives."""


class Execution:
    """The executors of one worker. `late` is called when a handler has run for longer than its task allows."""

    def __init__(
        self, engine: Engine, store: Store, owner: str, concurrency: int, late: Callable[[Running], None]
    ) -> None:
        self._engine = engine
        self._store = store
        self._owner = owner
        self._late = late
        self._threads = Threads(concurrency)
        self._processes = Processes(ENTRY)
        self._loop = asyncio.get_running_loop()

    async def run(self, held: Running) -> o.Outcome | ProcessDiedError:
        """The outcome, or how the process died. Raises only when the job was ended meanwhile."""
        job, task = held.job, held.task
        try:
            if task.executor == "process":
                return await self._in_process(held)
            try:
                args, kwargs = task.signature.unpack(json.loads(job.payload) if job.payload else {})
            except Exception as error:
                return ending.bad_input(error, job, self._owner)
            if task.signature.context is not None:
                kwargs[task.signature.context] = await self._context(held)
            self._limit(held)
            if task.in_loop:
                value = await task.function(*args, **kwargs)
            else:
                held.kill = self._threads.abandon
                value = await self._threads.run(partial(task.function, *args, **kwargs))
        except RAISED as error:
            if held.over:
                raise asyncio.CancelledError from None
            return ending.raised(error, task.on_exhausted, job, self._engine.classifier, self._owner)
        finally:
            if held.timer is not None:
                held.timer.cancel()
        return ending.returned(value, held.ctx)

    async def run_node(self, held: Running, nodes: Nodes) -> tuple[o.Outcome | ProcessDiedError, Follow | None]:
        """The same for what may be a node of a flow: also what it says, at its end, of those that wait for it."""
        its = node_of(held.job.options)
        if its is None:
            return await self.run(held), None
        try:
            return await nodes.run(held, its, self.run)
        except RAISED as error:
            if held.over:
                raise asyncio.CancelledError from None
            return ending.raised(error, held.task.on_exhausted, held.job, self._engine.classifier, self._owner), None

    async def undo(self, held: Running, outcome: o.Outcome) -> o.Outcome:
        """The outcome once more, after the steps of a job that failed for good were undone where its task says how."""
        undoes = held.task.compensate
        failure = None if undoes is None else failed_for_good(outcome, held.job)
        if undoes is None or failure is None:
            return outcome
        try:
            return await compensate(self._store, held.job, self._owner, undoes, failure, self._threads.run)
        except RAISED as error:
            if held.over:
                raise asyncio.CancelledError from None
            return ending.raised(error, held.task.on_exhausted, held.job, self._engine.classifier, self._owner)

    async def _context(self, held: Running) -> Context:
        link = LoopLink(self._store, self._owner, held.job)
        ctx = Context(held.job)
        if held.task.in_loop:
            ctx._alink = link
        else:
            ctx._link = ThreadLink(self._loop, link)
        if held.job.attempt > 1:
            ctx.load(await link.load_checkpoint())
        held.ctx = ctx
        return ctx

    def _limit(self, held: Running) -> None:
        if held.terms.timeout_ms is not None:
            seconds = held.terms.timeout_ms / 1_000
            held.ends_s = time.monotonic() + seconds
            held.timer = self._loop.call_later(seconds, self._late, held)

    async def _in_process(self, held: Running) -> o.Outcome | ProcessDiedError:
        job, task = held.job, held.task
        link = LoopLink(self._store, self._owner, job)
        held.ctx = Context(job)
        checkpoint = await link.load_checkpoint() if job.attempt > 1 else None
        child = await self._processes.take()
        try:
            # From here on, and not while it starts: the process is the job's.
            held.kill = child.kill
            held.tell = partial(_tell, child)
            if held.ctx.stop_mode is not None:
                held.tell(held.ctx.stop_mode)
            self._limit(held)
            request = {
                "job": list(job),
                "module": task.function.__module__,
                "qualname": task.function.__qualname__,
                "main": main_file() if task.function.__module__ == "__main__" else {},
                "on_exhausted": task.on_exhausted.value,
                "worker": self._owner,
                "checkpoint": checkpoint,
                "trace": tracing.headers(),
            }
            frame = await child.run(["run", request], partial(self._heard, held.ctx, FrameLink(link)))
            return unpack_outcome(frame[1:])
        except ProcessDiedError as died:
            if held.over:
                raise asyncio.CancelledError from None
            return died
        finally:
            self._processes.give_back(child)

    async def _heard(self, ctx: Context, link: FrameLink, frame: Frame) -> Frame | None:
        match frame:
            case ["progress", *values]:
                ctx.progress_state.take(*values)
            case ["log", lines]:
                ctx.lines.extend(lines)
            case ["output", metadata]:
                ctx.output_metadata = metadata
            case ["call", *arguments]:
                return await link.answer(*arguments)
        return None

    async def close(self) -> None:
        self._threads.close()
        await self._processes.close()


def _tell(child: Child, mode: str) -> None:
    child.tell(["stop", mode])


def crash(died: ProcessDiedError, job: Job, worker: str) -> Failure:
    """How a process that died is recorded."""
    context: dict[str, Any] = {"attempt": job.attempt, "worker_id": worker}
    context |= {"signal": died.signal} if died.signal else {"exit_code": died.exit_code}
    return Failure("process_died", ErrorClass.TRANSIENT.value, str(died), context)
