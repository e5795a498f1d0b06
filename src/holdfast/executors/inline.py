"""Coroutines in the worker's own loop. They run where `outcome` is awaited: a short job costs no task of its own."""

from __future__ import annotations

import json
from collections.abc import Coroutine
from typing import Any

from holdfast.executors import ending
from holdfast.executors.port import Crashed, Handle, Run
from holdfast.executors.python import RAISED, FunctionHandle, Misfit, PythonExecutor
from holdfast.kernel.classify import Classifier
from holdfast.kernel.outcome import Outcome
from holdfast.tasks.context import Context


class Inline(PythonExecutor):
    async def start(self, run: Run) -> Handle:
        work: Any = run.task.work
        job, ctx = run.job, None
        try:
            args, kwargs = work.unpack(json.loads(job.payload) if job.payload else {})
        except Exception as error:
            return Misfit(run, error)
        if (name := work.context) is not None:
            link = run.link
            kwargs[name] = ctx = Context(job, alink=link)
            if job.attempt > 1:
                ctx.load(await link.load_checkpoint())
        return _Awaited(run, ctx, self._classifier, work.function(*args, **kwargs))

    async def close(self, grace_s: float) -> None: ...


class _Awaited(FunctionHandle):
    __slots__ = ("_coroutine",)

    def __init__(
        self, run: Run, ctx: Context | None, classifier: Classifier, coroutine: Coroutine[Any, Any, Any]
    ) -> None:
        self._run = run
        self._ctx = ctx
        self._classifier = classifier
        self._over = False
        self._coroutine = coroutine

    async def outcome(self) -> Outcome | Crashed:
        try:
            value = await self._coroutine
        except RAISED as error:
            return self._raised(error)
        finally:
            self._over = True
        return ending.returned(value, self._ctx)

    def _end(self) -> None:
        if self._run.runner is not None:
            self._run.runner.cancel()
