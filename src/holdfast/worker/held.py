"""One job in a worker's hands."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from holdfast.executors.port import Handle, Run, Stop
from holdfast.kernel.outcome import SILENT, Notes
from holdfast.tasks.own_terms import Terms


@dataclass(slots=True, eq=False)
class Held(Run):
    """From its claim until it is settled or lost. Once `over`, whatever its handler still does counts for nothing."""

    terms: Terms
    since_s: float
    lost: int | None = None
    """The attempt that its worker was lost in, where the job goes on as it stands."""
    ends_s: float | None = None
    """When its run has taken as long as it may."""
    asked: str | None = None
    """Who asked it to stop, and why: "soft: why"."""
    over: bool = False
    handle: Handle | None = None
    timer: asyncio.TimerHandle | None = None
    words_sent_s: float = 0.0

    @property
    def late(self) -> bool:
        """Whether its time is over, noticed or not: a handler may have kept the loop from looking."""
        return self.ends_s is not None and time.monotonic() > self.ends_s

    def notes(self) -> Notes:
        return SILENT if self.handle is None else self.handle.notes()

    def begun(self, handle: Handle) -> None:
        """It runs now, and hears what it was asked before it did."""
        self.handle = handle
        if self.asked is not None:
            handle.cancel(Stop.SOFT, self.asked)

    def ask_to_stop(self, asked: str) -> None:
        if asked == self.asked:
            return
        self.asked = asked
        if self.handle is not None:
            self.handle.cancel(Stop.SOFT, asked)

    def end(self) -> None:
        """Take it from its handler, for good."""
        self.over = True
        if self.timer is not None:
            self.timer.cancel()
        if self.handle is not None:
            self.handle.cancel(Stop.HARD)
        if self.runner is not None:
            self.runner.cancel()
