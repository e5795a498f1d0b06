"""The pruner: removes what was kept long enough, in bounded steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from holdfast.kernel.lifecycle import Lifecycle, is_over
from holdfast.store.port import Retained, Store

PAGE = 1000
"""Jobs that are looked at in one step, and so the most that one purge record stands for."""

PAGES = 20
EXPIRED_AT_ONCE = 5000


class Pruned(NamedTuple):
    """What one run removed. `swept` says that it reached the last job: the next run starts over."""

    jobs: int
    events: int
    signals: int
    ops: int
    swept: bool


class Pruner:
    """Walks all jobs by id, a few pages a run, and goes on where the last run ended."""

    every_s = 60.0
    makes_work = False

    def __init__(self, store: Store) -> None:
        self._store = store
        self._after = ""

    async def run_once(self, now_ms: int | None = None) -> Pruned:
        """Remove finished, sealed jobs whose time is over, and expired signals and op_ids."""
        now = await self._store.now_ms() if now_ms is None else now_ms
        tables = await self._store.reads.lifecycles()
        jobs = events = 0
        swept = False
        for _ in range(PAGES):
            page = await self._store.reads.retention_page(self._after, PAGE)
            swept = len(page) < PAGE
            self._after = "" if swept else page[-1].job_id
            over = [row.job_id for row in page if is_due(tables, row, now)]
            if over and (record := await self._store.upkeep.prune(over, now)):
                jobs, events = jobs + record.jobs, events + record.events
            if swept:
                break
        signals, ops = await self._store.upkeep.drop_expired(EXPIRED_AT_ONCE, now)
        return Pruned(jobs, events, signals, ops, swept)


def is_due(tables: Mapping[str, Lifecycle], row: Retained, now_ms: int) -> bool:
    """Whether a job has been kept as long as it asked for, or else as long as its lifecycle keeps jobs."""
    table = tables.get(row.lifecycle)
    if row.finished_at_ms is None or not is_over(table, row.state):
        return False
    if row.keep_until_ms is not None:
        return row.keep_until_ms <= now_ms
    keep_ms = table.policies.retention_ms if table else None
    return keep_ms is not None and row.finished_at_ms + keep_ms <= now_ms
