"""Functions in threads of the worker's process.

Nothing can stop a thread from outside: one that is stopped HARD is left behind, and goes on until it asks its context
or returns. Work that must be stopped at once belongs into a process.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from typing import Any

from holdfast.executors import ending
from holdfast.executors.links import ThreadLink
from holdfast.executors.port import Crashed, Handle, Run, Site
from holdfast.executors.python import RAISED, FunctionHandle, Misfit, PythonExecutor
from holdfast.executors.threads import Answer, Threads, unwrapped
from holdfast.kernel.classify import Classifier
from holdfast.kernel.outcome import Outcome
from holdfast.tasks.context import Context


class Threaded(PythonExecutor):
    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._threads = Threads(site.capacity)

    async def start(self, run: Run) -> Handle:
        work: Any = run.task.work
        job, ctx = run.job, None
        try:
            args, kwargs = work.unpack(json.loads(job.payload) if job.payload else {})
        except Exception as error:
            return Misfit(run, error)
        if (name := work.context) is not None:
            link = run.link
            kwargs[name] = ctx = Context(job, ThreadLink(asyncio.get_running_loop(), link))
            if job.attempt > 1:
                ctx.load(await link.load_checkpoint())
        answer = self._threads.begin(partial(work.function, *args, **kwargs))
        return _InThread(run, ctx, self._classifier, answer, self._threads.abandon)

    async def close(self, grace_s: float) -> None:
        self._threads.close()


class _InThread(FunctionHandle):
    __slots__ = ("_abandon", "_answer")

    def __init__(
        self,
        run: Run,
        ctx: Context | None,
        classifier: Classifier,
        answer: asyncio.Future[Answer],
        abandon: Callable[[], None],
    ) -> None:
        super().__init__(run, ctx, classifier)
        self._answer = answer
        self._abandon = abandon

    async def outcome(self) -> Outcome | Crashed:
        try:
            value = unwrapped(await self._answer)
        except RAISED as error:
            return self._raised(error)
        return ending.returned(value, self._ctx)

    def _end(self) -> None:
        if self._answer.cancel():
            self._abandon()
