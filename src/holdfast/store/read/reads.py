"""The read port on SQL."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping
from typing import TYPE_CHECKING, Any

from holdfast.kernel.errors import StoreError
from holdfast.kernel.event import PROGRESS, Event
from holdfast.kernel.graph.joins import FlowStands, JoinEdge, JoinNode, Joins
from holdfast.kernel.job import Job, is_id
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.log import SPAN, expand, steps_of
from holdfast.kernel.state import LEASED, Canonical
from holdfast.store.port import Attempt, Dead, Filter, Page, PurgeRow, Retained, SealRow, Seen, SignalRow, Trail
from holdfast.store.read.listing import FIRST_ID, LAST_ID, Walked, joined, page, walk
from holdfast.store.read.rows import behind, histories, later, traced, trail
from holdfast.store.script import Query, Script, rows_of

if TYPE_CHECKING:
    from holdfast.store.database import Driver

STEPS = 20_000
"""As many jobs as this are passed over in one read, which takes some tens of milliseconds."""


MOST_LATELY = 100_000
"""As many rows are looked through for what happened lately."""


class SqlReads:
    """See `holdfast.store.port.Reads`."""

    def __init__(self, driver: Driver, tables: Mapping[str, Lifecycle]) -> None:
        self._driver = driver
        self._tables = tables

    async def _rows(self, name: str, **params: Any) -> list[Any]:
        return await self._driver.read(rows_of(name, params))

    async def one(self, job_id: str) -> Seen | None:
        return await self._driver.read(self._one(job_id)) if is_id(job_id) else None

    def _one(self, job_id: str) -> Script[Seen | None]:
        rows = yield Query("get", {"id": job_id})
        if not rows:
            return None
        job = Job._make(rows[0])
        table = self._tables.get(job.lifecycle)
        if table is None:
            stored = dict((yield Query("lifecycles")))
            table = Lifecycle.from_dict(json.loads(stored[job.lifecycle])) if job.lifecycle in stored else None
        ids = self._driver.dialect.array([job_id])
        progress = yield Query("last_signals", {"ids": ids, "type": PROGRESS})
        return Seen(job, table, [SignalRow._make(row) for row in progress])

    async def get(self, job_id: str) -> Job | None:
        rows = await self._rows("get", id=job_id) if is_id(job_id) else []
        return Job._make(rows[0]) if rows else None

    async def get_many(self, job_ids: list[str]) -> list[Job]:
        ids = self._driver.dialect.array([job_id for job_id in job_ids if is_id(job_id)])
        return [Job._make(row) for row in await self._rows("get_many", ids=ids)]

    async def counts(self, *, cap: int = 10_000) -> dict[tuple[str, str], int]:
        found: Counter[tuple[str, str]] = Counter()
        for lifecycle, state, count in await self._rows("counts_standing", cap=cap):
            found[lifecycle, state] += count
        for state in map(str, Canonical):
            for lifecycle, count in await self._rows("counts_resting", state=state, cap=cap):
                found[lifecycle, state] += count
        return dict(found)

    async def events_since(self, types: Collection[str], since_ms: int, *, cap: int = 10_000) -> dict[str, int]:
        found = dict.fromkeys(types, 0)
        for path, jobs in await self._rows("lately", since_ms=since_ms, most=MOST_LATELY):
            for step in steps_of(path):
                if step.type in found:
                    found[step.type] = min(found[step.type] + int(jobs), cap)
        return found

    async def events(self, job_id: str) -> list[Event]:
        return (await self._driver.read(self._histories([job_id]))).get(job_id, []) if is_id(job_id) else []

    def _histories(self, job_ids: list[str]) -> Script[dict[str, list[Event]]]:
        found = yield from histories(self._driver.dialect, job_ids)
        events = yield from traced(self._driver.dialect, [event for events in found.values() for event in events])
        by_job: dict[str, list[Event]] = {}
        for event in events:
            by_job.setdefault(event.job_id, []).append(event)
        return by_job

    async def events_by_type(self, type: str, *, since_ms: int = 0, limit: int = 100) -> list[Event]:
        return await self._driver.read(self._lately(type, since_ms, limit))

    def _lately(self, type: str, since_ms: int, limit: int) -> Script[list[Event]]:
        dialect = self._driver.dialect
        rows = yield Query("rows_lately", {"type": type, "since_ms": since_ms, "limit": limit})
        events = [event for row in rows for event in expand(dialect.row(row)) if event.type == type]
        return (yield from traced(dialect, events[:limit]))

    async def events_by_correlation(self, correlation_id: str, *, limit: int = 1000) -> list[Event]:
        return await self._driver.read(self._correlated(correlation_id, limit))

    def _correlated(self, correlation_id: str, limit: int) -> Script[list[Event]]:
        own = correlation_id if is_id(correlation_id) else LAST_ID
        rows = yield Query("correlated", {"correlation_id": correlation_id, "id": own, "limit": limit})
        found = yield from self._histories([row[0] for row in rows])
        return sorted((event for events in found.values() for event in events), key=lambda event: event.pos)[:limit]

    async def attempts(self, job_id: str) -> list[Attempt]:
        return attempts_of(await self.events(job_id))

    async def signals(self, job_id: str) -> list[SignalRow]:
        rows = await self._rows("signals", job_id=job_id) if is_id(job_id) else []
        return [SignalRow._make(row) for row in rows]

    async def signals_of_type(self, job_id: str, type: str, *, after: int = 0, limit: int = 1000) -> list[SignalRow]:
        given = {"job_id": job_id, "type": type, "after": after, "limit": limit}
        rows = await self._rows("signals_of_type", **given) if is_id(job_id) else []
        return [SignalRow._make(row) for row in rows]

    async def words(self, job_id: str, *, after: int, limit: int) -> list[SignalRow]:
        rows = await self._rows("said", job_id=job_id, after=after, limit=limit)
        return [SignalRow._make(row) for row in rows]

    async def last_signals(self, job_ids: list[str], type: str) -> list[SignalRow]:
        ids = self._driver.dialect.array([job_id for job_id in job_ids if is_id(job_id)])
        return [SignalRow._make(row) for row in await self._rows("last_signals", ids=ids, type=type)]

    async def dead(self, *, limit: int = 50) -> list[Dead]:
        return [Dead._make(row) for row in await self._rows("dead", limit=limit)]

    async def key_holder(self, scope: str, key: str) -> str | None:
        rows = await self._rows("key_holder", scope=scope, key=key)
        return rows[0][0] if rows else None

    async def lifecycles(self) -> dict[str, Lifecycle]:
        stored = {name: Lifecycle.from_dict(json.loads(text)) for name, text in await self._rows("lifecycles")}
        return stored | dict(self._tables)

    async def all_jobs(self, *, after: str = FIRST_ID, batch: int = 2000) -> AsyncIterator[list[Job]]:
        while rows := await self._rows("all_jobs", after=after, limit=batch):
            jobs = [Job._make(row) for row in rows]
            yield jobs
            after = jobs[-1].id

    async def all_events(self, *, after: str = FIRST_ID, batch: int = 5000) -> AsyncIterator[list[Event]]:
        async for jobs in self.all_jobs(after=after, batch=max(1, batch // 4)):
            found = await self._driver.read(histories(self._driver.dialect, [job.id for job in jobs]))
            yield [event for job in jobs for event in found.get(job.id, [])]

    async def trails(self, *, after: str = FIRST_ID, batch: int = 4000) -> AsyncIterator[list[Trail]]:
        while rows := await self._rows("trails", after=after, limit=batch):
            yield await self._driver.read(trail(self._driver.dialect, rows))
            after = rows[-1][0]

    async def trails_of(self, job_ids: Collection[str]) -> list[Trail]:
        ids = self._driver.dialect.array([job_id for job_id in job_ids if is_id(job_id)])
        return await self._driver.read(trail(self._driver.dialect, await self._rows("trails_of", ids=ids)))

    async def parts_upto(self, pos: int) -> int:
        [(count,)] = await self._rows("parts_upto", upto=pos)
        return int(count)

    async def misplaced(self) -> list[tuple[str | None, str]]:
        return [tuple(row) for row in await self._rows("misplaced")]

    async def log(self, after: int, limit: int) -> list[Event]:
        return await self._driver.read(behind(self._driver.dialect, after, limit))

    async def seals(self, after: int = 0, limit: int = 1000) -> list[SealRow]:
        return [SealRow._make(row) for row in await self._rows("seals", after=after, limit=limit)]

    async def seal_headers(self, after: int = 0, limit: int = 5000) -> list[SealRow]:
        return [SealRow._make(row) for row in await self._rows("seal_headers", after=after, limit=limit)]

    async def last_pos(self) -> int:
        for row in await self._rows("last_row"):
            for event in reversed(list(expand(self._driver.dialect.row(row)))):
                return event.pos
        return 0

    async def unsealed(self, after: int) -> int:
        return await self._driver.read(self._unsealed(after))

    def _unsealed(self, after: int) -> Script[int]:
        """Of the row that the place is in, what stands behind it; of all others, everything."""
        dialect = self._driver.dialect
        first = yield Query("rows", {"after": after - SPAN, "limit": 1})
        rows = [row for row in map(dialect.row, first) if row.pos <= after]
        counts = yield Query("unsealed", {"after": after})
        count = sum(int(jobs) * len(steps_of(path)) for path, jobs in counts)
        return count + sum(1 for _ in later(rows, after))

    async def last_seal(self) -> SealRow | None:
        rows = await self._rows("last_seal")
        return SealRow._make(rows[0]) if rows else None

    async def seal_of(self, pos: int) -> SealRow | None:
        rows = await self._rows("seal_of", pos=pos)
        return SealRow._make(rows[0]) if rows else None

    async def purges(self, after: int = 0, limit: int = 10_000) -> list[PurgeRow]:
        return [PurgeRow._make(row) for row in await self._rows("purges", after=after, limit=limit)]

    async def last_purge(self) -> tuple[int, bytes] | None:
        rows = await self._rows("last_purge")
        return (rows[0][0], rows[0][1]) if rows else None

    async def retention_page(self, after: str, limit: int) -> list[Retained]:
        rows = await self._rows("finished_page", after=after or FIRST_ID, limit=limit)
        return [Retained._make(row) for row in rows]

    async def live_keys_twice(self) -> list[tuple[str, str, str]]:
        return [tuple(row) for row in await self._rows("live_keys_twice")]

    async def dead_mismatches(self) -> list[tuple[str, str]]:
        return [tuple(row) for row in await self._rows("dead_mismatches")]

    async def flow_sizes(self, after: str, limit: int) -> list[tuple[str, int]]:
        return [tuple(row) for row in await self._rows("flow_page", after=after or FIRST_ID, limit=limit)]

    async def joins(self, first: str, last: str) -> Joins:
        flows = await self._rows("join_flows", first=first, last=last)
        nodes = await self._rows("join_nodes", first=first, last=last)
        edges = await self._rows("join_edges", first=first, last=last)
        return Joins(
            [FlowStands._make(row) for row in flows],
            [JoinNode._make(row) for row in nodes],
            [JoinEdge._make(row) for row in edges],
        )

    async def totals(self) -> tuple[int, int]:
        [(jobs, first_events)] = await self._rows("totals")
        return jobs, first_events

    async def task_names(self, *, limit: int = 500) -> list[str]:
        return [row[0] for row in await self._rows("task_names", limit=limit)]

    async def key_scopes(self, *, limit: int = 500) -> list[str]:
        return [row[0] for row in await self._rows("key_scopes", limit=limit)]

    # Last of the class: its name hides the type's from annotations that follow.
    async def list(self, *where: Filter, limit: int = 50, cursor: str | None = None, steps: int | None = None) -> Page:
        if cursor is not None and not is_id(cursor):
            raise StoreError(
                f"cursor {cursor!r} was not given out by a list", field="cursor", remedy="start without one"
            )
        share = None if steps is None else max(1, steps // max(1, len(where)))
        pages = [await self._page(each, limit, cursor or LAST_ID, share) for each in where]
        return pages[0] if len(pages) == 1 else page(joined(Walked(*each) for each in pages), limit)

    async def _page(self, where: Filter, limit: int, before: str, steps: int | None) -> Page:
        if where.parent_id is not None and not is_id(where.parent_id):
            return Page([], None)
        found = page(await self._driver.read(walk(where, limit, before, steps or STEPS)), limit)
        while steps is None and len(found.items) < limit and found.next_cursor is not None:
            # A read of its own, so that others have their turn.
            more = await self._driver.read(walk(where, limit - len(found.items), found.next_cursor, STEPS))
            found = Page([*found.items, *(on := page(more, limit - len(found.items))).items], on.next_cursor)
        return found


def attempts_of(events: list[Event]) -> list[Attempt]:
    """A job's attempts, told from its events."""
    found: dict[int, Attempt] = {}
    last = 0
    for event in events:
        if event.attempt != last and last:
            # The event that opens an attempt is the one that ended the last.
            found[last] = _ended(found[last], event)
        last = event.attempt
        now = found.get(event.attempt) or Attempt(event.attempt, None, None, None, None, None, None)
        if event.to_state in LEASED:
            now = now._replace(owner=event.actor)
            if event.to_state == Canonical.RUNNING:
                now = now._replace(started_at_ms=event.at_ms)
        elif Canonical(event.to_state).rank >= Canonical.SUCCEEDED.rank:
            now = _ended(now, event)
        found[event.attempt] = now
    return list(found.values())


def _ended(attempt: Attempt, event: Event) -> Attempt:
    if attempt.end is not None:
        return attempt
    return attempt._replace(ended_at_ms=event.at_ms, end=event.type, reason=event.reason, error=event.payload)
