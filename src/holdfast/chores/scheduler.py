"""Submits what is scheduled: one job per tick, however many schedulers run and wherever one of them dies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from uuid_utils import uuid4, uuid7

from holdfast.kernel.errors import HoldfastError, NotFoundError, StoreError
from holdfast.kernel.job import Spec
from holdfast.observe.logs import get_logger
from holdfast.store.port import ScheduleRow, Store
from holdfast.tasks.cron import Cron

AT_ONCE = 100
PAGE = 500
PAGES = 20
GRACE_MS = 60_000
"""A tick that is submitted within this time was not missed: a restart takes a while."""

KEY_WINDOW_MS = 86_400_000
KEPT = ("lifecycle", "queue", "priority", "max_tries", "lease_ms", "delay_ms", "expire_after_ms", "tags")

log = get_logger("holdfast.scheduler")


class Missed(StrEnum):
    """What becomes of ticks that nobody was there for."""

    SKIP = "skip"
    ONE = "one"
    ALL = "all"


@dataclass(frozen=True)
class Schedule:
    """A declared schedule: when it ticks, and the job that each tick submits."""

    name: str
    template: Spec
    cron: str
    timezone: str = "UTC"
    missed: str = Missed.ONE

    def __post_init__(self) -> None:
        Cron(self.cron, self.timezone)
        if self.missed not in set(Missed):
            names = ", ".join(Missed)
            raise HoldfastError(f"missed is {self.missed!r}", field="missed", remedy=f"one of {names}")
        if not self.name or len(self.name) > 200:
            raise HoldfastError(f"name is {self.name!r}", field="name", remedy="1 to 200 characters")

    def row(self, now_ms: int) -> ScheduleRow:
        """As it is kept when it is new: its first tick is the next to come."""
        spec = self.template
        return ScheduleRow(
            name=self.name,
            task=spec.task,
            args=spec.payload or "{}",
            cron=self.cron,
            timezone=self.timezone,
            missed=str(self.missed),
            paused=False,
            last_tick_ms=now_ms,
            next_tick_ms=Cron(self.cron, self.timezone).next(now_ms),
            spec=json.dumps({name: getattr(spec, name) for name in KEPT}),
        )


class Scheduler:
    """Any number of them may run at once: who moves a schedule on submits its jobs, in the same transaction."""

    every_s = 1.0
    makes_work = True

    def __init__(self, store: Store) -> None:
        self._store = store
        self._schedules = store.admin.schedules

    async def declare(self, schedules: Sequence[Schedule]) -> None:
        """Keep these schedules; one that is known goes on where it stands unless its times have changed."""
        now_ms = await self._store.now_ms() if schedules else 0
        for schedule in schedules:
            await self._schedules.keep(schedule.row(now_ms))

    async def run_once(self, now_ms: int | None = None) -> int:
        """Submit every tick that has come; how many jobs that made."""
        now_ms = await self._store.now_ms() if now_ms is None else now_ms
        made = 0
        for _ in range(PAGES):
            due = await self._schedules.due(now_ms, AT_ONCE)
            taken = [await self._tick(row, now_ms) for row in due]
            made += sum(count or 0 for count in taken)
            if all(count is None for count in taken):
                break
        return made

    async def _tick(self, row: ScheduleRow, now_ms: int) -> int | None:
        """The jobs that one schedule's ticks made; None when it did not move."""
        try:
            cron = Cron(row.cron, row.timezone)
            ticks, until_ms = self._chosen(row, cron, now_ms)
            specs = [spec_of(row, tick_ms) for tick_ms in ticks]
            if specs and specs[0].lifecycle not in self._store.tables:
                return None  # another process's lifecycle: its jobs are not ours to make
            last_ms = ticks[-1] if ticks else row.last_tick_ms
            answers = await self._schedules.take(row, last_ms, cron.next(until_ms), specs)
        except StoreError:
            raise
        except HoldfastError as error:  # one schedule that makes no sense here must not hold up the others
            log.error("schedule_failed", schedule=row.name, error=str(error))
            return None
        return None if answers is None else sum(answer.created for answer in answers)

    def _chosen(self, row: ScheduleRow, cron: Cron, now_ms: int) -> tuple[list[int], int]:
        """The ticks to submit, and the time up to which that deals with all."""
        on_time_ms = now_ms - GRACE_MS
        match Missed(row.missed):
            case Missed.ALL:
                ticks = cron.between(row.last_tick_ms, now_ms, PAGE)
                return ticks, ticks[-1] if len(ticks) == PAGE else now_ms
            case Missed.ONE if row.next_tick_ms < on_time_ms:
                last = cron.last(row.last_tick_ms, now_ms)
                return [] if last is None else [last], now_ms
            case _:
                return cron.between(max(row.last_tick_ms, on_time_ms - 1), now_ms, PAGE), now_ms

    async def pause(self, name: str) -> None:
        if not await self._schedules.pause(name):
            raise _missing(name)

    async def resume(self, name: str) -> None:
        """Go on from now: nothing is made up for what passed while it was paused."""
        row = await self.get(name)
        if row.paused:
            now_ms = await self._store.now_ms()
            await self._schedules.resume(name, now_ms, Cron(row.cron, row.timezone).next(now_ms))

    async def submit_now(self, name: str) -> str:
        """One job of a schedule at once, beside its ticks; the job's id."""
        spec = spec_of(await self.get(name), None)
        [answer] = await self._store.jobs.submit([spec])
        return answer.job_id

    async def get(self, name: str) -> ScheduleRow:
        row = await self._schedules.get(name)
        if row is None:
            raise _missing(name)
        return row

    async def list(self) -> Sequence[ScheduleRow]:
        return await self._schedules.list()

    async def remove(self, name: str) -> None:
        if not await self._schedules.drop(name):
            raise _missing(name)


def spec_of(row: ScheduleRow, tick_ms: int | None) -> Spec:
    """The job of one tick, or of none: then it has no key. Its trace starts here."""
    job_id = str(uuid7())
    template = json.loads(row.spec)
    mark = f"schedule:{row.name}:{'now' if tick_ms is None else tick_ms}"
    keyed: dict[str, Any] = {}
    if tick_ms is not None:
        keyed = {"key": mark, "key_window_ms": KEY_WINDOW_MS, "duplicates": "return"}
    return Spec(
        id=job_id,
        task=row.task,
        payload=row.args,
        correlation_id=mark if tick_ms is not None else job_id,
        trace_id=uuid4().hex,
        actor="scheduler",
        reason="scheduled" if tick_ms is not None else "run by hand",
        cause=f"schedule:{row.name}",
        **keyed,
        **{name: template[name] for name in KEPT if name in template},
    )


def _missing(name: str) -> NotFoundError:
    return NotFoundError("schedule", name, "see `holdfast schedule list`")
