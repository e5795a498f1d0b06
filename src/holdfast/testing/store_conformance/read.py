"""What is read, followed and woken by; what is removed, and what opens and closes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import nullcontext, suppress

from holdfast.chores.sealer import Sealer
from holdfast.kernel.durable import DURABLE
from holdfast.kernel.errors import BusyError, NotFoundError, StoreError
from holdfast.kernel.event import Event
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.store.port import Ask, Feed, Filter, Signal
from holdfast.testing.store_conformance.pair import NOBODY, WORKER, Check, Pair, refused, together

BOUND_S = 5.0
"""How long a ring may take at most on a slow machine."""
QUIET_S = 0.3
LOOKS = 50


async def a_list_is_pages_of_what_any_filter_lets_pass(pair: Pair) -> None:
    specs = [pair.spec(queue=f"q{n % 3}", task=f"t{n % 2}") for n in range(12)]
    await pair.store.jobs.submit(specs)
    where = (Filter(queue="q0", task="t0"), Filter(queue="q1"))
    wanted = [spec.id for spec in reversed(specs) if spec.queue == "q1" or (spec.queue, spec.task) == ("q0", "t0")]
    for steps in (None, 1):
        found: list[str] = []
        page = await pair.other.reads.list(*where, limit=2, steps=steps)
        while page.next_cursor is not None:
            assert len(page.items) <= 2, "a page holds more than its limit"
            found += [job.id for job in page.items]
            page = await pair.other.reads.list(*where, limit=2, cursor=page.next_cursor, steps=steps)
        assert found + [job.id for job in page.items] == wanted, "each once, the newest first"
    with refused(StoreError):
        await pair.store.reads.list(cursor="made up")


async def one_look_shows_all_of_a_job(pair: Pair) -> None:
    job = await pair.running()
    await pair.store.jobs.signal([Signal(job.id, 1, "job_progress", WORKER, f'{{"done":{n}}}') for n in range(2)])
    await pair.end(job)
    seen = await pair.other.reads.one(job.id)
    assert seen is not None
    assert seen.job == await pair.job(job.id)
    assert (seen.table, [word.payload for word in seen.progress]) == (DURABLE, ['{"done":1}']), "how far it last was"
    [attempt] = await pair.other.reads.attempts(job.id)
    assert (attempt.number, attempt.owner, attempt.end) == (1, WORKER, "job_succeeded")
    assert [event.seq for event in await pair.other.reads.events(job.id)] == [1, 2, 3, 4]
    assert [await pair.other.reads.one(job_id) for job_id in (NOBODY, "no id")] == [None, None]


async def looked(feed: Feed, looks: int, until: int) -> list[Event]:
    """What the feed hands out in so many looks, or until there are so many."""
    found: list[Event] = []
    for _ in range(looks):
        found += await feed.next(3)
        if len(found) >= until:
            break
        await asyncio.sleep(0.01)
    return found


async def a_feed_misses_nothing_that_commits_late(pair: Pair) -> None:
    late, *rest = [pair.spec() for _ in range(9)]
    holding = pair.database.late([late])
    feed = pair.other.log.feed()
    async with holding or nullcontext():
        await pair.store.jobs.submit(rest)
        seen = await looked(feed, 5, until=len(rest))
        end = await pair.other.log.end()
    if holding is None:
        await pair.store.jobs.submit([late])
    seen += await looked(feed, LOOKS, until=9 - len(seen))
    log = await pair.store.reads.log(0, 99)
    assert seen == log, f"of {len(log)} events {len(seen)} were handed out, or in another order"
    assert [event.pos > end for event in log if event.job_id == late.id] == [True], "behind the end something commits"
    middle = pair.store.log.feed(log[4].pos)
    assert await looked(middle, LOOKS, until=4) == log[5:], "a later reader does not start from there"
    assert (await pair.store.log.origins([late.id, NOBODY])).keys() == {late.id}


async def what_is_pruned_was_sealed_and_is_on_record(pair: Pair) -> None:
    over, waits = await pair.running(key="k"), await pair.submit()
    await pair.end(over)
    assert await pair.store.upkeep.prune([over.id]) is None, "what is not sealed was removed"
    with refused(BusyError):
        await pair.store.upkeep.remove([over.id], Ask())
    await Sealer(pair.store).seal_all()
    [seal] = await pair.other.reads.seals()
    assert not await pair.other.upkeep.add_seal(seal), "two sealers seal one batch"
    record = await pair.other.upkeep.prune([over.id, waits.id, NOBODY])
    assert record is not None, "a job that is over and sealed was not removed"
    assert (record.jobs, record.events) == (1, 4), "another than the job that is over was removed"
    assert await pair.store.reads.purges() == [record]
    assert await pair.dump(over) == [(None, [], [])], "something of a removed job is left"
    assert await pair.store.reads.key_holder("task", "k") is None
    assert await pair.claimed() == [waits.id]


async def soon(waiting: Awaitable[None]) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(BOUND_S):
            await waiting
            return True
    return False


async def a_ring_behind_a_ticket_is_not_slept_through(pair: Pair) -> None:
    rings = pair.store.wakeups
    ticket = rings.ticket()
    rings.ring_near()
    assert await soon(rings.wait(ticket, 60)), "it rang between the look and the sleep"
    for ring in (rings.ring, rings.ring_near):
        asleep = asyncio.create_task(rings.wait(rings.ticket(), 60))
        await asyncio.sleep(0)
        assert rings.waiting == 1
        ring()
        assert await soon(asleep), "nobody is woken by a ring"
        assert rings.waiting == 0
    assert await soon(rings.wait(rings.ticket(), 0.01)), "it waits longer than it was to"


async def a_ring_reaches_other_processes(pair: Pair) -> None:
    rings = pair.other.wakeups
    listening = asyncio.create_task(rings.listen())
    try:
        ticket = -1
        while ticket != rings.ticket():  # what it hears when it begins to listen may be no ring
            ticket = rings.ticket()
            await rings.wait(ticket, QUIET_S)
        for _ in range(LOOKS):
            await pair.store.jobs.submit([pair.spec()])
            pair.store.wakeups.ring()
            await rings.wait(ticket, BOUND_S / LOOKS)
            if ticket != rings.ticket():
                break
        assert ticket != rings.ticket(), f"nothing was heard of {LOOKS} rings in {BOUND_S:g} s"
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def a_registered_lifecycle_is_known_from_the_database(pair: Pair) -> None:
    table = Lifecycle.from_dict(DURABLE.to_dict() | {"name": "private"})
    await pair.store.register(table)
    job = await pair.submit("private")
    assert (pair.store.tables["private"], await pair.other.table("private")) == (table, table)
    with refused(NotFoundError):
        await pair.other.table("nobody's")
    assert await pair.other.jobs.claim(["default"], 9, WORKER) == [], (
        "a job is claimed whose lifecycle is not known here"
    )
    assert await pair.claimed() == [job.id]


async def a_thread_may_wait_for_a_call_without_a_loop(pair: Pair) -> None:
    if (wait := pair.store.wait) is not None:
        [answer] = await asyncio.to_thread(wait, pair.store.jobs.submit([pair.spec()]))
        assert await pair.claimed() == [answer.job_id]


async def a_store_lets_running_calls_end_before_it_closes(pair: Pair) -> None:
    async with pair.database.open() as leaving:
        assert (await leaving.schema()).pending == await leaving.migrate() == [], "the tables are made once"
        calls = [asyncio.create_task(leaving.jobs.submit([pair.spec()])) for _ in range(9)]
        await asyncio.sleep(0)
        await leaving.close()
        answers = await together(*calls)
    assert len(await pair.claimed()) == len(answers), "a call was cut off"


CHECKS: tuple[Check, ...] = (
    a_list_is_pages_of_what_any_filter_lets_pass,
    one_look_shows_all_of_a_job,
    a_feed_misses_nothing_that_commits_late,
    what_is_pruned_was_sealed_and_is_on_record,
    a_ring_behind_a_ticket_is_not_slept_through,
    a_ring_reaches_other_processes,
    a_registered_lifecycle_is_known_from_the_database,
    a_thread_may_wait_for_a_call_without_a_loop,
    a_store_lets_running_calls_end_before_it_closes,
)
