"""Schedules, in their table. Taking a tick and submitting its jobs is one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from holdfast.kernel.job import Spec
from holdfast.store.jobs.admission import Admission
from holdfast.store.jobs.submitting import submit
from holdfast.store.port import ScheduleRow, Submitted
from holdfast.store.script import Query, Script, rows_of

if TYPE_CHECKING:
    from holdfast.store.database import Driver


class SqlSchedules:
    """See `holdfast.store.port.Schedules`."""

    def __init__(self, driver: Driver, admission: Admission) -> None:
        self._driver = driver
        self._admission = admission

    async def get(self, name: str) -> ScheduleRow | None:
        rows = await self._driver.read(rows_of("schedule", {"name": name}))
        return _row(rows[0]) if rows else None

    async def due(self, now_ms: int, limit: int) -> Sequence[ScheduleRow]:
        return [
            _row(row) for row in await self._driver.read(rows_of("due_schedules", {"now_ms": now_ms, "limit": limit}))
        ]

    async def keep(self, row: ScheduleRow) -> None:
        await self._driver.write(rows_of("keep_schedule", row._asdict()), single=True)

    async def take(
        self, row: ScheduleRow, last_tick_ms: int, next_tick_ms: int, specs: Sequence[Spec]
    ) -> Sequence[Submitted] | None:
        return await self._driver.write(self._take(row, last_tick_ms, next_tick_ms, specs))

    def _take(self, row: ScheduleRow, last_ms: int, next_ms: int, specs: Sequence[Spec]) -> Script[Any]:
        moved = yield Query(
            "advance_schedule",
            {
                "name": row.name,
                "cron": row.cron,
                "timezone": row.timezone,
                "expected_ms": row.next_tick_ms,
                "last_tick_ms": last_ms,
                "next_tick_ms": next_ms,
            },
        )
        if not moved:
            return None
        return (yield from submit(self._driver.dialect, self._admission, specs)) if specs else []

    async def pause(self, name: str) -> bool:
        return bool(await self._driver.write(rows_of("pause_schedule", {"name": name, "paused": True}), single=True))

    async def resume(self, name: str, last_tick_ms: int, next_tick_ms: int) -> bool:
        params = {"name": name, "paused": False, "last_tick_ms": last_tick_ms, "next_tick_ms": next_tick_ms}
        return bool(await self._driver.write(rows_of("resume_schedule", params), single=True))

    async def drop(self, name: str) -> bool:
        return bool(await self._driver.write(rows_of("drop_schedule", {"name": name}), single=True))

    async def list(self) -> list[ScheduleRow]:
        return [_row(row) for row in await self._driver.read(rows_of("schedules", {}))]


def _row(row: Sequence[Any]) -> ScheduleRow:
    found = ScheduleRow._make(row)
    return found._replace(paused=bool(found.paused))
