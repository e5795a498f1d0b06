"""What runs of Python functions have in common, wherever they run."""

from __future__ import annotations

import asyncio
from typing import Literal

from holdfast.executors import ending
from holdfast.executors.port import QUIET, Crashed, Handle, Run, Site, Stop, Words
from holdfast.kernel.classify import Classifier
from holdfast.kernel.outcome import SILENT, Notes, Outcome
from holdfast.tasks.context import Context, JobStopped

RAISED = (Exception, JobStopped, SystemExit, KeyboardInterrupt, asyncio.CancelledError)
"""What a handler may raise and a worker outlives."""


class PythonExecutor:
    """Runs that end with the worker's process: no other finds them."""

    reach: Literal["process"] = "process"

    def __init__(self, site: Site) -> None:
        self.capacity = site.capacity
        self._classifier = site.classifier

    async def adopt(self, run: Run, since: int) -> Handle | None:
        return None


class Misfit:
    """A run whose stored arguments do not fit its function, or not any more: over before it began."""

    def __init__(self, run: Run, error: Exception) -> None:
        self._outcome = ending.bad_input(error, run.job, run.owner)

    def poll(self) -> Words:
        return QUIET

    def notes(self) -> Notes:
        return SILENT

    def cancel(self, how: Stop, asked: str | None = None) -> None: ...

    async def outcome(self) -> Outcome | Crashed:
        return self._outcome


class FunctionHandle:
    """A run whose handler speaks through a Context of this process."""

    __slots__ = ("_classifier", "_ctx", "_over", "_run")

    def __init__(self, run: Run, ctx: Context | None, classifier: Classifier) -> None:
        self._run = run
        self._ctx = ctx
        self._classifier = classifier
        self._over = False
        """It has ended, or was stopped HARD."""

    def poll(self) -> Words:
        if (ctx := self._ctx) is None:
            return QUIET
        lines, state = ctx.lines.take(), ctx.progress_state
        if not state.changed:
            return Words(lines)
        state.changed = False
        return Words(lines, state.to_json())

    def notes(self) -> Notes:
        return SILENT if self._ctx is None else self._ctx.notes()

    def cancel(self, how: Stop, asked: str | None = None) -> None:
        if self._ctx is not None:
            self._ctx.stop_mode = asked or how.value
        if how is Stop.HARD and not self._over:
            self._over = True
            self._end()

    def _end(self) -> None:
        """The executor's own way to stop it HARD."""
        raise NotImplementedError

    def _raised(self, error: BaseException) -> Outcome:
        if self._over:
            raise asyncio.CancelledError from None
        run = self._run
        return ending.raised(error, run.task.on_exhausted, run.job, self._classifier, run.owner)
