"""Following the log: where to begin, whose events these are, and which of them somebody wants."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from holdfast.kernel.event import Event
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.runtime.portal import Portal
from holdfast.store.read.reading import is_id
from holdfast.store.script import Query, Script
from holdfast.store.sql_store import SqlStore
from holdfast.store.waker import Waker
from holdfast.views.listing import FilterError, state_names

FILTERS = ("jobs", "tasks", "queues", "lifecycles", "states")
LOOK_EVERY_S = 0.1
KEPT = 20_000
"""Jobs whose origins are remembered."""


class Origin(NamedTuple):
    """What of a job never changes, and its events do not say."""

    lifecycle: str
    task: str
    queue: str
    correlation_id: str | None
    trace_id: str | None


class Origins:
    """Remembers origins: a job has several events, and they come close together."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store
        self._known: dict[str, Origin] = {}

    async def of(self, events: Sequence[Event]) -> list[tuple[Event, Origin | None]]:
        """Each event with its job's origin and ids; without one when the job has been pruned in between."""
        if missing := {event.job_id for event in events} - self._known.keys():
            rows = await self._store.driver.read(_origins(self._store.dialect.array(sorted(missing))))
            if len(self._known) + len(rows) > KEPT:
                wanted = {event.job_id for event in events}
                self._known = {job_id: origin for job_id, origin in self._known.items() if job_id in wanted}
            self._known |= {row[0]: Origin(*row[1:]) for row in rows}
        return [_with_origin(event, self._known.get(event.job_id)) for event in events]


def _with_origin(event: Event, origin: Origin | None) -> tuple[Event, Origin | None]:
    if origin is None:
        return event, None
    return event._replace(correlation_id=origin.correlation_id, trace_id=origin.trace_id), origin


class Wanted(NamedTuple):
    """Which events somebody wants. None means any; `states` are the canonical ones of each lifecycle."""

    jobs: frozenset[str] | None = None
    tasks: frozenset[str] | None = None
    queues: frozenset[str] | None = None
    lifecycles: frozenset[str] | None = None
    states: Mapping[str, frozenset[str]] | None = None

    def wants(self, event: Event, origin: Origin | None) -> bool:
        if self.jobs is not None and event.job_id not in self.jobs:
            return False
        if self[1:] == (None, None, None, None):
            return True
        if origin is None:
            return False
        return (
            (self.tasks is None or origin.task in self.tasks)
            and (self.queues is None or origin.queue in self.queues)
            and (self.lifecycles is None or origin.lifecycle in self.lifecycles)
            and (self.states is None or event.to_state in self.states.get(origin.lifecycle, ()))
        )


def wanted(
    tables: Mapping[str, Lifecycle],
    *,
    jobs: Collection[str] = (),
    tasks: Collection[str] = (),
    queues: Collection[str] = (),
    lifecycles: Collection[str] = (),
    states: Collection[str] = (),
) -> Wanted:
    """A filter by the names that users know. Raises FilterError, with what exists, for a name that nothing has."""
    for job_id in jobs:
        if not is_id(job_id):
            raise FilterError(f"job {job_id!r} is no job id", field="job", remedy="use a UUID in lower case")
    for name in lifecycles:
        if name not in tables:
            raise FilterError(
                f"no lifecycle {name!r}", field="lifecycle", remedy=f"there are: {', '.join(sorted(tables))}"
            )
    return Wanted(_set(jobs), _set(tasks), _set(queues), _set(lifecycles), _states(tables, lifecycles, states))


def _states(
    tables: Mapping[str, Lifecycle], lifecycles: Collection[str], names: Collection[str]
) -> dict[str, frozenset[str]] | None:
    """A label can mean different states in different lifecycles: each has its own."""
    if not names:
        return None
    chosen = [table for table in tables.values() if not lifecycles or table.name in lifecycles]
    for name in names:
        if not any(table.parse(name) for table in chosen):
            raise FilterError(f"no state {name!r}", field="state", remedy=f"there are: {state_names(chosen)}")
    return {t.name: frozenset(state.value for name in names for state in t.parse(name)) for t in chosen}


def _set(names: Collection[str]) -> frozenset[str] | None:
    return frozenset(names) or None


async def end_of_log(store: SqlStore) -> int:
    """A position that nothing commits behind any more, as near to the end of the log as can be told at once.

    Everything sealed was followed, gaps and all. Behind the last seal a gap may be a position that is under way;
    without one there is nothing under way below the highest.
    """
    seal = await store.reads.last_seal()
    sealed = 0 if seal is None else seal.last_pos
    [(high, count)] = await store.driver.read(_log_end(sealed))
    alone = store.dialect.name == "sqlite"
    return int(high) if alone or high - sealed == count else sealed


def _origins(ids: object) -> Script[list[tuple[str, ...]]]:
    rows = yield Query("origins", {"ids": ids})
    return rows


def _log_end(after: int) -> Script[list[tuple[int, int]]]:
    rows = yield Query("log_end", {"after": after})
    return rows


async def follow(
    store: SqlStore, waker: Waker, after: int | None, where: Mapping[str, Collection[str]]
) -> AsyncGenerator[list[Event]]:
    """What is wanted of the log behind a position, or from now on: batches as they come, without end."""
    chosen = wanted(await store.reads.lifecycles(), **_known(where))
    origins, feed = Origins(store), store.feed(await end_of_log(store) if after is None else after)
    listening = asyncio.create_task(store.bell.listen(waker.wake), name="holdfast-follow")
    try:
        while True:
            ticket = waker.ticket()
            events = await feed.next()
            if found := [event for event, origin in await origins.of(events) if chosen.wants(event, origin)]:
                yield found
            if not events:
                await waker.wait(ticket, LOOK_EVERY_S)
    finally:
        listening.cancel()


def _known(where: Mapping[str, Collection[str]]) -> Mapping[str, Collection[str]]:
    for name, chosen in where.items():
        if name not in FILTERS:
            raise FilterError(f"no filter {name!r}", field=name, remedy=f"there are: {', '.join(FILTERS)}")
        if isinstance(chosen, str):
            raise FilterError(f"{name} is the text {chosen!r}", field=name, remedy=f"give a list: [{chosen!r}]")
    return where


def one_by_one(portal: Portal, batches: AsyncGenerator[list[Event]]) -> Iterator[Event]:
    """Batches that come inside, for who takes single events outside."""
    try:
        while (events := portal.call(_next(batches))) is not None:
            yield from events
    finally:
        portal.call(_close(batches))


async def aone_by_one(portal: Portal, batches: AsyncGenerator[list[Event]]) -> AsyncIterator[Event]:
    try:
        while (events := await portal.hop(_next(batches))) is not None:
            for event in events:
                yield event
    finally:
        await portal.hop(_close(batches))


async def _next(batches: AsyncGenerator[list[Event]]) -> list[Event] | None:
    return await anext(batches, None)


async def _close(batches: AsyncGenerator[list[Event]]) -> None:
    await batches.aclose()
