"""Schedules as they are kept. Taking a tick and submitting its jobs is one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.kernel.job import Spec
from holdfast.store.jobs.admission import Door
from holdfast.store.jobs.submitting import submit
from holdfast.store.port import Submitted
from holdfast.store.script import Query, Script

if TYPE_CHECKING:
    from holdfast.store.sql_store import SqlStore


class ScheduleRow(NamedTuple):
    """One schedule. `args` is the payload of its jobs, `spec` the rest of what they are made from; both are JSON."""

    name: str
    task: str
    args: str
    cron: str
    timezone: str
    missed: str
    paused: bool
    last_tick_ms: int
    next_tick_ms: int
    spec: str


class Schedules:
    """Reads and writes of schedules on any store."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store
        self._driver = store.driver

    async def list(self) -> list[ScheduleRow]:
        return [_row(row) for row in await self._driver.read(_one("schedules", {}))]

    async def get(self, name: str) -> ScheduleRow | None:
        rows = await self._driver.read(_one("schedule", {"name": name}))
        return _row(rows[0]) if rows else None

    async def due(self, now_ms: int, limit: int) -> Sequence[ScheduleRow]:
        return [_row(row) for row in await self._driver.read(_one("due_schedules", {"now_ms": now_ms, "limit": limit}))]

    async def keep(self, row: ScheduleRow) -> None:
        """Declare a schedule: new, or as another version of the one with its name."""
        await self._driver.write(_one("keep_schedule", row._asdict()), single=True)

    async def take(
        self, row: ScheduleRow, last_tick_ms: int, next_tick_ms: int, specs: Sequence[Spec]
    ) -> Sequence[Submitted] | None:
        """Move a schedule on and submit these jobs, both or neither; None when another scheduler was first."""
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
        return (yield from submit(self._store.dialect, Door(self._store.tables), specs)) if specs else []

    async def pause(self, name: str) -> bool:
        return bool(await self._driver.write(_one("pause_schedule", {"name": name, "paused": True}), single=True))

    async def resume(self, name: str, last_tick_ms: int, next_tick_ms: int) -> bool:
        params = {"name": name, "paused": False, "last_tick_ms": last_tick_ms, "next_tick_ms": next_tick_ms}
        return bool(await self._driver.write(_one("resume_schedule", params), single=True))

    async def drop(self, name: str) -> bool:
        return bool(await self._driver.write(_one("drop_schedule", {"name": name}), single=True))


def _row(row: Sequence[Any]) -> ScheduleRow:
    found = ScheduleRow._make(row)
    return found._replace(paused=bool(found.paused))


def _one(name: str, params: dict[str, Any]) -> Script[list[Any]]:
    rows = yield Query(name, params)
    return rows
