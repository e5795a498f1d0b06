"""What chores find and write."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.kernel.errors import BusyError
from holdfast.kernel.job import Job, is_id
from holdfast.kernel.lifecycle import Command
from holdfast.kernel.policy import Lost
from holdfast.store.database import Driver, is_there, now_of
from holdfast.store.jobs.admission import Tables
from holdfast.store.jobs.remembering import remembered
from holdfast.store.jobs.turns import move_up
from holdfast.store.port import Ask, Facts, PurgeRow, SealRow, VersionError
from holdfast.store.script import Many, Query, Script, rows_of
from holdfast.store.upkeep.purging import drop_expired, prune, purge_payloads


class SqlUpkeep:
    """See `holdfast.store.port.Upkeep`."""

    def __init__(self, driver: Driver, tables: Tables) -> None:
        self._driver = driver
        self._dialect = driver.dialect
        self._tables = tables

    async def lost(self, limit: int) -> list[Job]:
        taken_over = [
            f"{table.name}/{losses}"
            for table in self._tables.values()
            if table.policies.lost is Lost.TAKE_OVER
            for losses in range(table.policies.crash_budget - 1)
        ]
        params = {"now_ms": self._dialect.now(), "taken_over": self._dialect.array(taken_over), "limit": limit}
        rows = await self._driver.read(rows_of("lost", params))
        return [Job._make(row) for row in rows]

    async def expired(self, limit: int) -> list[Job]:
        expirable = [
            f"{table.name}/{row.source.value}"
            for table in self._tables.values()
            for row in table.transitions
            if row.command == Command.EXPIRE
        ]
        params = {"now_ms": self._dialect.now(), "expirable": self._dialect.array(expirable), "limit": limit}
        rows = await self._driver.read(rows_of("expired", params))
        return [Job._make(row) for row in rows]

    async def promote(self, now_ms: int, limit: int) -> int:
        if not await is_there(self._driver, "deadline_passed", now_ms):
            return 0
        return await self._driver.write(self._promote(now_ms, limit))

    def _promote(self, now_ms: int, limit: int) -> Script[int]:
        passed = yield Query("deadlines", {"now_ms": now_ms, "limit": limit})
        if not passed:
            return 0
        yield Many("spend_deadline", [(job_id, at_ms) for job_id, at_ms, _ in passed])
        turns: dict[str, int] = {}
        for job_id, _, turn in passed:
            turns[job_id] = min(turn, turns.get(job_id, turn))
        return len((yield from move_up(self._dialect, turns)))

    async def add_seal(self, seal: SealRow) -> bool:
        rows = await self._driver.write(rows_of("add_seal", seal._asdict()), single=True)
        return bool(rows)

    async def prune(self, job_ids: Sequence[str], now_ms: int | None = None) -> PurgeRow | None:
        at_ms = await now_of(self._driver) if now_ms is None else now_ms
        return await self._driver.write(prune(self._dialect, self._tables, _ids(job_ids), at_ms))

    async def remove(self, job_ids: Sequence[str], ask: Ask) -> Facts:
        script = remembered(self._dialect, ask, self._remove(_ids(job_ids), ask, await now_of(self._driver)))
        return await self._driver.write(script)

    def _remove(self, job_ids: list[str], ask: Ask, now_ms: int) -> Script[Facts]:
        jobs = [Job._make(row) for row in (yield Query("get_many", {"ids": self._dialect.array(job_ids)}))]
        for job in jobs:
            if ask.versions is not None and job.version not in ask.versions:
                raise VersionError(job.id, job.version)
        record = yield from prune(self._dialect, self._tables, job_ids, now_ms)
        if record is None:
            raise BusyError("nothing was removed: the log's last events are not sealed yet")
        return Facts(purged=record)

    async def purge_payloads(self, job_ids: Sequence[str], now_ms: int | None = None) -> PurgeRow | None:
        at_ms = await now_of(self._driver) if now_ms is None else now_ms
        return await self._driver.write(purge_payloads(self._dialect, _ids(job_ids), at_ms))

    async def drop_expired(self, limit: int, now_ms: int | None = None) -> tuple[int, int]:
        at_ms = await now_of(self._driver) if now_ms is None else now_ms
        return await self._driver.write(drop_expired(at_ms, limit))

    async def named_blobs(self, digests: Sequence[str]) -> set[str]:
        rows = await self._driver.read(rows_of("named_blobs", {"digests": self._dialect.array(digests)}))
        return {row[0] for row in rows}


def _ids(job_ids: Sequence[str]) -> list[str]:
    return [job_id for job_id in dict.fromkeys(job_ids) if is_id(job_id)]
