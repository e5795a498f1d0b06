"""Metrics of a whole database, told from its log: whichever process moved a job, its event is counted here.

Counters start with the process; what no event says, renewals and conflicts, is added up from what workers say of
themselves on the roster. Gauges are read at each scrape.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from prometheus_client.core import Metric

from holdfast.kernel.event import Event
from holdfast.kernel.lifecycle import Command, Lifecycle
from holdfast.kernel.state import LEASED, OVER, RANK, Canonical
from holdfast.observe.logs import get_logger
from holdfast.observe.metrics import OTHER, Counts, Series
from holdfast.observe.worker_metrics import conflicts
from holdfast.store.port import Feed, Origin, Store, WorkerRow
from holdfast.views.following import Origins
from holdfast.views.metrics_gauges import read_gauges

BATCH = 1_000
FOLLOW_EVERY_S = 1.0
SCRAPE_S = 5.0
"""A scrape waits no longer for the database; what it read by then it says."""
RUNS_KNOWN = 10_000
"""Runs under way whose start is looked up when this process begins."""
FAILED = frozenset({Canonical.FAILED, Canonical.TIMED_OUT, Canonical.DEAD_LETTERED, Canonical.EXPIRED})
FAILURES = frozenset({Command.RETRY, Command.FAIL, Command.COMPENSATE, Command.TIME_OUT, Command.DEAD_LETTER})
REAPER = "reaper"

log = get_logger("holdfast.metrics")


class MetricsFeed:
    """One per process. `begin` marks where counting starts; `start` follows the log between scrapes as well."""

    def __init__(self, store: Store) -> None:
        self.tally = Counts()
        self._store = store
        self._origins = Origins(store)
        self._feed: Feed | None = None
        self._read: list[Event] = []
        self._started_ms: dict[str, int] = {}
        self._counted: dict[str, tuple[int, int]] = {}
        self._tables: dict[str, Lifecycle] = dict(store.tables)
        self._commands: dict[tuple[str, str | None, str, str], str] = {}
        self._reading = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Count from here on."""
        async with self._reading:
            if self._feed is None:
                feed = self._store.log.feed(await self._store.log.end())
                for job in await self._store.admin.queues.leases(limit=RUNS_KNOWN):
                    if job.started_at_ms is not None:
                        self._started_ms[job.id] = job.started_at_ms
                self._hear(await self._store.admin.workers.list(), count=False)
                self._feed = feed

    async def start(self) -> None:
        await self.begin()
        self._task = asyncio.create_task(self._follow(), name="holdfast-metrics")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(FOLLOW_EVERY_S)
            try:
                await self.catch_up()
            except Exception as error:  # the database is away: the log waits
                log.warning("metrics_not_read", error=str(error))

    async def catch_up(self) -> None:
        """Count what has happened since the last time."""
        await self.begin()
        while await self._read_on() == BATCH:
            pass

    async def _read_on(self) -> int:
        async with self._reading:
            # Kept until they are counted: a scrape may be given up between the two reads.
            if not self._read and self._feed is not None:
                self._read = await self._feed.next(BATCH)
            found = await self._origins.of(self._read)
            if any(origin is not None and origin.lifecycle not in self._tables for _, origin in found):
                self._tables = await self._store.reads.lifecycles()
            self._read = []
            for event, origin in found:
                self._count(event, origin)
            return len(found)

    async def scrape(self) -> Sequence[Metric]:
        """Every metric as it stands. Without the database: what was counted, and that it is away."""
        gauges: dict[str, Series] = {"database_up": {(): 0}}
        try:
            async with asyncio.timeout(SCRAPE_S):
                await self.catch_up()
                workers = await self._store.admin.workers.list()
                self._hear(workers)
                gauges |= await read_gauges(self._store, self.tally, workers)
                gauges["database_up"] = {(): 1}
        except Exception as error:
            log.warning("scrape_incomplete", error=str(error) or type(error).__name__)
        return list(self.tally.families(gauges))

    def _count(self, event: Event, origin: Origin | None) -> None:
        tally, command = self.tally, self._command(event, origin)
        source, target = event.from_state, event.to_state
        was_leased, is_leased = source in LEASED, target in LEASED
        if source is None:
            tally.count("jobs_submitted_total")
        if is_leased and (not was_leased or command == Command.TAKE_OVER):
            tally.count("claims_total")
            if event.attempt > 1:
                tally.count("retry_attempts_total")
        if event.actor == REAPER or command == Command.TAKE_OVER:
            tally.count("lease_expiries_total")
        if command == Command.RETRY:
            tally.count("retries_total")
        if command in FAILURES:
            tally.count("failures_total")
        if target == Canonical.RUNNING:
            self._started_ms[event.job_id] = event.at_ms
        elif was_leased and not is_leased:
            self._ended(event, origin, self._started_ms.pop(event.job_id, None))
        if RANK[target] == OVER and (source is None or RANK[source] < OVER):
            self._over(event, origin)

    def _ended(self, event: Event, origin: Origin | None, started_ms: int | None) -> None:
        if origin is not None and started_ms is not None and RANK[event.to_state] == OVER:
            self.tally.duration(self.tally.types(origin.task), max(0, event.at_ms - started_ms) / 1_000)

    def _over(self, event: Event, origin: Origin | None) -> None:
        tally = self.tally
        kind = OTHER if origin is None else tally.types(origin.task)
        tally.count("jobs_finished_total", kind, event.to_state)
        if event.to_state in FAILED:
            tally.count("job_failures_total", tally.codes(_code_of(event)))
        if event.to_state == Canonical.DEAD_LETTERED:
            tally.count("dead_lettered_total")

    def _command(self, event: Event, origin: Origin | None) -> str | None:
        """Which row of its lifecycle's table an event is of."""
        table = None if origin is None else self._tables.get(origin.lifecycle)
        if table is None:
            return None
        key = (table.name, event.from_state, event.to_state, event.type)
        if key not in self._commands:
            for row in table.transitions:
                self._commands[table.name, row.source.value, row.target.value, row.event] = str(row.command)
            self._commands.setdefault(key, "")
        return self._commands[key]

    def _hear(self, workers: Sequence[WorkerRow], *, count: bool = True) -> None:
        """What workers count themselves: the difference to what each said before, so that no sum ever falls."""
        counted = {worker.owner: (worker.stats.get("renewed", 0), conflicts(worker.stats)) for worker in workers}
        for owner, (renewed, conflicted) in counted.items():
            before = self._counted.get(owner, (0, 0))
            if count:
                self.tally.count("lease_renewals_total", by=max(0, renewed - before[0]))
                self.tally.count("claim_conflicts_total", by=max(0, conflicted - before[1]))
        self._counted = counted


def _code_of(event: Event) -> str:
    """The code of the error that an event records; its reason where it says none."""
    outcome = json.loads(event.payload) if event.payload else {}
    error = outcome.get("error") if isinstance(outcome, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    return str(code or event.reason or "unknown")
