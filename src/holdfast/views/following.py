"""Following the log: where to begin, whose events these are, and which of them somebody wants."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from typing import NamedTuple

from holdfast.kernel.event import Event
from holdfast.kernel.job import is_id
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.store.port import Origin, Store
from holdfast.views.listing import FilterError, state_names

FILTERS = ("jobs", "tasks", "queues", "lifecycles", "states")
LOOK_EVERY_S = 0.1
KEPT = 20_000
"""Jobs whose origins are remembered."""


class Origins:
    """Remembers origins: a job has several events, and they come close together."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, Origin] = {}

    async def of(self, events: Sequence[Event]) -> list[tuple[Event, Origin | None]]:
        """Each event with its job's origin and ids; without one when the job has been pruned in between."""
        if missing := {event.job_id for event in events} - self._known.keys():
            found = await self._store.log.origins(sorted(missing))
            if len(self._known) + len(found) > KEPT:
                wanted = {event.job_id for event in events}
                self._known = {job_id: origin for job_id, origin in self._known.items() if job_id in wanted}
            self._known |= found
        return [_with_origin(event, self._known.get(event.job_id)) for event in events]


def _with_origin(event: Event, origin: Origin | None) -> tuple[Event, Origin | None]:
    if origin is None:
        return event, None
    return event._replace(correlation_id=origin.correlation_id, trace_id=origin.trace_id), origin


class WantedEvents(NamedTuple):
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
) -> WantedEvents:
    """A filter by the names that users know. Raises FilterError, with what exists, for a name that nothing has."""
    for job_id in jobs:
        if not is_id(job_id):
            raise FilterError(f"job {job_id!r} is no job id", field="job", remedy="use a UUID in lower case")
    for name in lifecycles:
        if name not in tables:
            raise FilterError(
                f"no lifecycle {name!r}", field="lifecycle", remedy=f"there are: {', '.join(sorted(tables))}"
            )
    return WantedEvents(_set(jobs), _set(tasks), _set(queues), _set(lifecycles), _states(tables, lifecycles, states))


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


async def follow(store: Store, after: int | None, where: Mapping[str, Collection[str]]) -> AsyncGenerator[list[Event]]:
    """What is wanted of the log behind a position, or from now on: batches as they come, without end."""
    chosen = wanted(await store.reads.lifecycles(), **_known(where))
    origins, feed = Origins(store), store.log.feed(await store.log.end() if after is None else after)
    listening = asyncio.create_task(store.wakeups.listen(), name="holdfast-follow")
    try:
        while True:
            ticket = store.wakeups.ticket()
            events = await feed.next()
            if found := [event for event, origin in await origins.of(events) if chosen.wants(event, origin)]:
                yield found
            if not events:
                await store.wakeups.wait(ticket, LOOK_EVERY_S)
    finally:
        listening.cancel()


def _known(where: Mapping[str, Collection[str]]) -> Mapping[str, Collection[str]]:
    for name, chosen in where.items():
        if name not in FILTERS:
            raise FilterError(f"no filter {name!r}", field=name, remedy=f"there are: {', '.join(FILTERS)}")
        if isinstance(chosen, str):
            raise FilterError(f"{name} is the text {chosen!r}", field=name, remedy=f"give a list: [{chosen!r}]")
    return where
