"""`holdfast_events` shows people the events that the log's rows stand for, each as the store tells it."""

from typing import Any

from holdfast.kernel.event import Event
from tests.audit.made import Made

COLUMNS = Event._fields[:15]


def as_shown(event: Event) -> tuple[Any, ...]:
    return tuple(value.hex() if isinstance(value, bytes) else value for value in event[:15])


async def shown(made: Made) -> list[tuple[Any, ...]]:
    rows = made.sql(f"SELECT {', '.join(COLUMNS)} FROM holdfast_events ORDER BY pos")
    return [(row[0], str(row[1]), *row[2:]) for row in rows]


async def test_the_view_shows_the_events_that_the_store_tells(made: Made) -> None:
    events = await made.store.reads.log(0, 10_000)
    assert len({event.type for event in events}) > 15
    assert await shown(made) == list(map(as_shown, events))


async def test_it_shows_what_retention_left(made: Made) -> None:
    await made.store.upkeep.purge_payloads([made.ids["rich"]])
    record = await made.store.upkeep.prune([made.ids["lost"]])
    assert record is not None
    events = await made.store.reads.log(0, 10_000)
    assert any(event.payload_digest is not None for event in events)
    assert await shown(made) == list(map(as_shown, events))


async def test_the_view_of_jobs_shows_where_each_stands(made: Made) -> None:
    rows = made.sql("SELECT id, state, version, attempt FROM holdfast_jobs ORDER BY id")
    jobs = [job async for batch in made.store.reads.all_jobs() for job in batch]
    assert [(str(row[0]), *row[1:]) for row in rows] == [(j.id, j.state, j.version, j.attempt) for j in jobs]
