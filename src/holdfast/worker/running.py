"""One job in a worker's hands."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from holdfast.kernel.job import Job
from holdfast.kernel.outcome import SILENT, Said
from holdfast.tasks.context import Context
from holdfast.tasks.own_terms import Terms
from holdfast.tasks.registry import TaskDef


@dataclass(slots=True, eq=False)
class Running:
    """From its claim until it is settled or lost. Once `over`, whatever its handler still does counts for nothing."""

    job: Job
    task: TaskDef
    terms: Terms
    since_s: float
    ends_s: float | None = None
    """When its run has taken as long as it may."""
    asked: str | None = None
    """Who asked it to stop, and why: "soft: why"."""
    over: bool = False
    ctx: Context | None = None
    runner: asyncio.Task[None] | None = None
    timer: asyncio.TimerHandle | None = None
    said_s: float = 0.0
    tell: Callable[[str], None] | None = None
    """How a handler that is out of reach hears that it should stop."""
    kill: Callable[[], None] | None = None
    """How it is stopped, or left behind, where ending its runner does not do it."""

    @property
    def late(self) -> bool:
        """Whether its time is over, noticed or not: a handler may have kept the loop from looking."""
        return self.ends_s is not None and time.monotonic() > self.ends_s

    def said(self) -> Said:
        return SILENT if self.ctx is None else self.ctx.said()

    def ask_to_stop(self, mode: str) -> None:
        self.asked = mode
        if self.ctx is not None and self.ctx.stop_mode != mode:
            self.ctx.stop_mode = mode
            if self.tell is not None:
                self.tell(mode)

    def end(self) -> None:
        """Take it from its handler, for good."""
        self.over = True
        if self.timer is not None:
            self.timer.cancel()
        if self.ctx is not None:
            self.ctx.stop_mode = "hard"
        if self.kill is not None:
            self.kill()
        if self.runner is not None:
            self.runner.cancel()
