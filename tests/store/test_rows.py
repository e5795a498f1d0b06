"""One case per row of every built-in table, and for every state: nothing but its rows."""

from __future__ import annotations

import pytest

from holdfast.kernel.errors import NotAllowedError
from holdfast.kernel.lifecycle import Command, Lifecycle, Transition, Tries
from holdfast.kernel.move import Change, Move
from holdfast.kernel.state import LEASED, OVER, Canonical
from holdfast.store.port import Applied, Refusal, Store
from tests.store.scenes import (
    ROWS,
    STATES,
    Clock,
    assert_clean,
    bring,
    dump,
    name_of_row,
    take,
)

ALL_COMMANDS = sorted({*Command, *(str(row.command) for _, row in ROWS)})


@pytest.mark.rule("C02", "D02", "D04", "D05", "D27", "P02", "P03", "W02", "S02")
@pytest.mark.parametrize(("table", "row"), ROWS, ids=name_of_row)
async def test_a_row_moves_the_job_and_writes_its_event(
    store: Store, clock: Clock, table: Lifecycle, row: Transition
) -> None:
    before = await bring(store, clock, table, row.source.value, correlation_id="c-1")
    told_before = await store.reads.events(before.id)
    clock.advance(1_000)

    after = await take(store, clock, before, row)

    assert after.state == row.target
    assert after.version == before.version + 1
    assert after.attempt == before.attempt + row.opens_attempt
    expected = {Tries.KEEP: before.tries, Tries.COUNT: before.tries + 1, Tries.REFUND: before.tries - 1}
    assert after.tries == expected.get(row.tries, 0)
    assert after.losses == before.losses + row.counts_loss
    assert (after.lease_owner is not None) == (row.target in LEASED)
    if row.target is Canonical.RUNNING:
        assert after.started_at_ms == clock.now_ms
    if row.target.rank < OVER:
        assert after.finished_at_ms is None
    elif row.source.rank < OVER:
        assert after.finished_at_ms == clock.now_ms

    *told, event = await store.reads.events(after.id)
    assert told == told_before
    assert (event.seq, event.type, event.from_state, event.to_state) == (
        after.version,
        row.event,
        row.source,
        row.target,
    )
    assert (event.at_ms, event.attempt, event.correlation_id) == (clock.now_ms, after.attempt, "c-1")
    assert event.actor
    await assert_clean(store, after.id)
    assert await store.reads.dead_mismatches() == []


@pytest.mark.rule("C02", "D02", "D04", "P02", "W02", "S02", "S06", "S10")
@pytest.mark.parametrize(("table", "state"), STATES, ids=name_of_row)
async def test_from_a_state_there_are_its_rows_and_nothing_else(
    store: Store, clock: Clock, table: Lifecycle, state: str
) -> None:
    job = await bring(store, clock, table, state)
    allowed = table.commands(state)
    for command in ALL_COMMANDS:
        if command in allowed:
            assert table.row(state, command).source == state
            continue
        with pytest.raises(NotAllowedError) as refused:
            table.row(state, command)
        assert (refused.value.command, refused.value.allowed) == (command, allowed)
        assert all(name in str(refused.value) for name in (table.name, table.state(state), *allowed))

    before = await dump(store, job.id)
    others = [row for row in table.transitions if row.source != state]
    changes = [Change(table, (row,), "engine", [Move(job.id, job.attempt)]) for row in others]
    applied = await store.jobs.apply(changes)
    assert applied == Applied({}, [Refusal(job.id, "state", state, job.attempt)] * len(others))
    assert await dump(store, job.id) == before


async def test_a_row_of_another_lifecycle_is_refused(store: Store, clock: Clock) -> None:
    tables = store.tables
    job = await bring(store, clock, tables["durable"], "running")
    row = tables["crawl"].row("running", Command.SUCCEED)
    before = await dump(store, job.id)
    applied = await store.jobs.apply([Change(tables["crawl"], (row,), "engine", [Move(job.id, job.attempt)])])
    assert applied == Applied({}, [Refusal(job.id, "state", "running", 1)])
    assert await dump(store, job.id) == before


@pytest.mark.rule("D05")
async def test_a_path_of_rows_is_one_change_with_an_event_for_each(store: Store, clock: Clock) -> None:
    table = store.tables["durable"]
    job = await bring(store, clock, table, "assigned")
    path = (table.row("assigned", Command.START), table.row("running", Command.SUCCEED))
    move = Move(job.id, job.attempt, reason="quick", payload='{"n":1}', outcome='{"result":1}')
    assert await store.jobs.apply([Change(table, path, "worker-1", [move], "worker-1")]) == Applied({job.id: 4}, [])
    started, succeeded = (await store.reads.events(job.id))[2:]
    assert (started.seq, started.type, started.payload, started.digest) == (3, "job_started", None, None)
    assert (succeeded.seq, succeeded.type, succeeded.payload) == (4, "job_succeeded", '{"n":1}')
    assert succeeded.digest is not None
    await assert_clean(store, job.id)


async def test_one_call_moves_what_it_may_and_refuses_the_rest(store: Store, clock: Clock) -> None:
    table = store.tables["durable"]
    running = [await bring(store, clock, table, "running") for _ in range(3)]
    done = await bring(store, clock, table, "succeeded")
    nobody = "01900000-0000-7000-8000-ffffffffffff"
    row = table.row("running", Command.SUCCEED)
    moves = [Move(job.id, job.attempt) for job in (*running, done)]
    moves += [Move(nobody, 1), Move(running[0].id, 7)]
    applied = await store.jobs.apply([Change(table, (row,), "engine", moves[3:])])
    assert sorted(applied.refused) == sorted(
        [
            Refusal(done.id, "state", "succeeded", 1),
            Refusal(nobody, "missing"),
            Refusal(running[0].id, "stale", "running", 1),
        ]
    )
    applied = await store.jobs.apply([Change(table, (row,), "engine", moves[:5])])
    assert applied.versions == {job.id: 4 for job in running}
    assert {refusal.why for refusal in applied.refused} == {"state", "missing"}
    assert await store.jobs.apply([]) == Applied({}, [])
    assert await store.jobs.apply([Change(table, (row,), "engine", [])]) == Applied({}, [])


@pytest.mark.rule("D04")
async def test_time_never_falls_even_when_the_clock_does(store: Store, clock: Clock) -> None:
    job = await bring(store, clock, store.tables["durable"], "running")
    clock.advance(-600_000)
    after = await take(store, clock, job, store.tables["durable"].row("running", Command.SUCCEED))
    assert after.finished_at_ms == after.changed_at_ms == job.changed_at_ms
    await assert_clean(store, job.id)
