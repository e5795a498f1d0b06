"""Functions in processes of their own: one that hogs the interpreter, leaks or crashes does so alone."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from holdfast.executors.frames import Frame
from holdfast.executors.links import FrameLink
from holdfast.executors.port import Crashed, Handle, Run, Site, Stop
from holdfast.executors.process_child import ENTRY, unpack_outcome
from holdfast.executors.processes import Child, Processes, main_file
from holdfast.executors.python import RAISED, FunctionHandle, PythonExecutor
from holdfast.kernel.classify import Classifier
from holdfast.kernel.outcome import Outcome
from holdfast.observe import tracing
from holdfast.tasks.context import Context
from holdfast.tasks.work import Python


class Spawned(PythonExecutor):
    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._processes = Processes(ENTRY)

    async def start(self, run: Run) -> Handle:
        checkpoint = await run.link.load_checkpoint() if run.job.attempt > 1 else None
        # Its time begins when there is a process, and not while that starts.
        child = await self._processes.take()
        return _InProcess(run, self._classifier, self._processes, child, checkpoint)

    async def close(self, grace_s: float) -> None:
        await self._processes.close(grace_s)


class _InProcess(FunctionHandle):
    """Its context is the likeness of one over there."""

    _ctx: Context

    def __init__(
        self, run: Run, classifier: Classifier, processes: Processes, child: Child, checkpoint: str | None
    ) -> None:
        super().__init__(run, Context(run.job), classifier)
        self._processes = processes
        self._child = child
        self._checkpoint = checkpoint
        self._was_told = False

    def cancel(self, how: Stop, asked: str | None = None) -> None:
        super().cancel(how, asked)
        if how is Stop.SOFT and self._was_told and not self._over:
            self._child.tell(["stop", self._ctx.stop_mode])

    async def outcome(self) -> Outcome | Crashed:
        self._was_told = True
        try:
            end = await self._child.run(["run", self._request()], partial(self._heard, FrameLink(self._run.link)))
            return end if isinstance(end, Crashed) else unpack_outcome(end[1:])
        except RAISED as error:
            return self._raised(error)
        finally:
            self._over = True
            self._processes.give_back(self._child)

    def _request(self) -> dict[str, Any]:
        run, function = self._run, cast(Python, self._run.task.work).function
        return {
            "job": list(run.job),
            "module": function.__module__,
            "qualname": function.__qualname__,
            "main": main_file() if function.__module__ == "__main__" else {},
            "on_exhausted": run.task.on_exhausted.value,
            "worker": run.owner,
            "checkpoint": self._checkpoint,
            "stop": self._ctx.stop_mode,
            "trace": tracing.headers(),
        }

    async def _heard(self, link: FrameLink, frame: Frame) -> Frame | None:
        ctx = self._ctx
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

    def _end(self) -> None:
        self._child.kill()
        if self._run.runner is not None:
            self._run.runner.cancel()
