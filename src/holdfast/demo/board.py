"""The jobs of an act as they move: a table that redraws itself on a terminal, a line per event elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from holdfast.demo.crew import Crew
from holdfast.kernel.event import Event
from holdfast.kernel.job import Job
from holdfast.kernel.state import OVER, RANK, Canonical
from holdfast.runtime.engine import Engine
from holdfast.runtime.handle import JobHandle
from holdfast.views.job import job_view

LOOK_S = 0.1
LIMIT_S = 25.0
BAR = 10
WIDTHS = (16, 8, 13, 9, 20)
COLOURS = {
    Canonical.QUEUED: "blue",
    Canonical.RETRY_PENDING: "yellow",
    Canonical.RUNNING: "bold cyan",
    Canonical.SUCCEEDED: "green",
    Canonical.SKIPPED: "green",
    Canonical.FAILED: "red",
    Canonical.CANCELLED: "magenta",
    Canonical.DEAD_LETTERED: "bold red",
}


class Board:
    """Watches jobs, each under a name that a person can follow."""

    def __init__(self, console: Console, app: Engine, crew: Crew) -> None:
        self._console = console
        self._inside = app._inside
        self._crew = crew
        self._began_s = time.monotonic()
        self._seen: dict[str, int] = {}

    def watch(
        self,
        jobs: Mapping[str, JobHandle[Any]],
        until: Callable[[list[Job]], bool] | None = None,
        *,
        result: Callable[[Any], str] = str,
    ) -> list[Job]:
        """Show these jobs until all are over, or `until` says so; the jobs as they are then."""
        deadline_s = time.monotonic() + LIMIT_S
        live = Live(console=self._console, auto_refresh=False, transient=until is not None)
        drawn = self._console.is_terminal
        if drawn:
            live.start()
        try:
            while True:
                found = [handle.job() for handle in jobs.values()]
                if drawn:
                    live.update(self._table(jobs, found, result), refresh=True)
                else:
                    self._lines(jobs)
                if until(found) if until else all(RANK[job.state] >= OVER for job in found):
                    return found
                if time.monotonic() > deadline_s:
                    raise TimeoutError(f"after {LIMIT_S:g} s: {', '.join(f'{j.task} is {j.state}' for j in found)}")
                time.sleep(LOOK_S)
        finally:
            if drawn:
                live.stop()

    def _table(self, jobs: Mapping[str, JobHandle[Any]], found: list[Job], result: Callable[[Any], str]) -> Table:
        table = Table(box=None, padding=(0, 0, 0, 2), show_header=False)
        for width in WIDTHS:
            table.add_column(no_wrap=True, min_width=width)
        for name, job in zip(jobs, found, strict=True):
            lifecycle = self._inside.table(job.lifecycle)
            state = Text(str(lifecycle.state(job.state)), COLOURS.get(Canonical(job.state), ""))
            attempt = f"attempt {job.attempt}" if job.attempt > 1 else ""
            table.add_row(name, Text(job.lifecycle, "dim"), state, attempt, self._right(job, result))
        return table

    def _right(self, job: Job, result: Callable[[Any], str]) -> Text:
        """Who works on it and how far it is, or what came out of it."""
        view = job_view(job, None, () if job.lease_owner is None else self._signals(job))
        if job.lease_owner is None:
            if view["error"]:
                return Text(view["error"]["message"], "dim")
            return Text("" if view["result"] is None else result(view["result"]), "dim")
        progress = view["progress"] or {}
        done, total = progress.get("done") or 0, progress.get("total") or 0
        bar = Text("━" * round(BAR * done / total), "cyan") if total else Text()
        rest = Text("━" * (BAR - len(bar)) if total else "", "bright_black")
        return Text.assemble(bar, rest, " " if total else "", (self._crew.name_of(job.lease_owner), "dim"))

    def _signals(self, job: Job) -> Any:
        async def read() -> Any:
            return await (await self._inside.opened()).reads.signals(job.id)

        return self._inside.portal.call(read())

    def _lines(self, jobs: Mapping[str, JobHandle[Any]]) -> None:
        """What has happened since the last look, in the order in which it did."""
        new: list[tuple[Event, str, str]] = []
        for name, handle in jobs.items():
            lifecycle = self._inside.table(handle.job().lifecycle)
            for event in handle.events()[self._seen.get(handle.id, 0) :]:
                self._seen[handle.id] = event.seq
                new.append((event, name, str(lifecycle.state(event.to_state))))
        for event, name, state in sorted(new):
            at_s = time.monotonic() - self._began_s
            who = self._crew.name_of(event.actor)
            self._console.print(f"  {at_s:5.1f} s  {name:<20} {event.type.removeprefix('job_'):<16} {state:<14} {who}")
