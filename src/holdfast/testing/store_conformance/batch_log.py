"""What the log says of a batch: one event per transition and member, each with its own place, whoever reads it how."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from holdfast.chores.sealer import Sealer
from holdfast.kernel.event import Event
from holdfast.kernel.move import Move
from holdfast.store.port import Feed
from holdfast.testing.store_conformance.batch import RESULT, SHARED, Members, batch_of, rest_of
from holdfast.testing.store_conformance.pair import RIVAL, WORKER, Check, Pair, together

LOOKS = 50
ALL = 10_000


async def followed(feed: Feed, limit: int, until: int) -> list[Event]:
    """What a reader is handed who takes so many at once, until there are so many."""
    found: list[Event] = []
    empty = 0
    while len(found) < until and empty < LOOKS:
        events = await feed.next(limit)
        assert len(events) <= limit, f"a reader who asks for {limit} is handed {len(events)}"
        empty = 0 if events else empty + 1
        found += events
    return found


def bare(events: Iterable[Event]) -> list[tuple[Any, ...]]:
    """What an event says of itself, wherever it is read."""
    return [event[:SHARED] for event in events]


async def lived(pair: Pair) -> Members:
    """A batch that was claimed, partly done, partly tried again, and whose rest goes on."""
    batch = await batch_of(pair, 5, start=False, correlation_id="c", trace_id="t")
    pair.database.pass_ms(10)
    await pair.store.jobs.apply([batch.along([3, 1], "start", "succeed", outcome=RESULT)])
    pair.database.pass_ms(10)
    await pair.other.jobs.apply(
        [batch.along([0, 4], "start", "retry", delay_ms=5, reason="later", payload='{"delay_ms":5}')]
    )
    pair.database.pass_ms(10)
    await rest_of(pair, owner=RIVAL)
    return batch


async def each_member_has_its_events_and_no_others(pair: Pair) -> None:
    began_ms = await pair.store.now_ms()
    batch = await lived(pair)

    def rows(*rows: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return [(seq, *row) for seq, row in enumerate(rows, 1)]

    def at(ms: int) -> int:
        return began_ms + ms

    began = (
        ("job_submitted", None, "queued", at(0), "client", 1, None, None),
        ("job_claimed", "queued", "assigned", at(0), WORKER, 1, None, None),
    )
    done = (
        ("job_started", "assigned", "running", at(10), WORKER, 1, None, None),
        ("job_succeeded", "running", "succeeded", at(10), WORKER, 1, None, None),
    )
    again = (
        ("job_started", "assigned", "running", at(20), WORKER, 1, "later", None),
        ("job_retry_scheduled", "running", "queued", at(20), WORKER, 2, "later", '{"delay_ms":5}'),
        ("job_claimed", "queued", "assigned", at(30), RIVAL, 2, None, None),
        ("job_started", "assigned", "running", at(30), RIVAL, 2, None, None),
    )
    wanted = {0: rows(*began, *again), 1: rows(*began, *done), 2: rows(*began), 3: rows(*began, *done)}
    wanted[4] = wanted[0]
    for number, job in enumerate(batch.jobs):
        events = await pair.other.reads.events(job.id)
        found = [(*event[2:9], event.reason, event.payload) for event in events]
        assert found == wanted[number], f"of member {number} the log says {found}"
        assert {(event.correlation_id, event.trace_id, event.cause) for event in events} == {("c", "t", None)}
        bound = [event.type for event in events if event.digest is not None]
        ends = ["job_succeeded"] if number in (1, 3) else []
        assert bound == ["job_submitted", *ends], f"of member {number} digests are bound by {bound}"


async def the_events_of_a_batch_stand_each_in_its_own_place(pair: Pair) -> None:
    await lived(pair)
    log = await pair.store.reads.log(0, ALL)
    assert len(log) == 5 * 2 + 2 * 2 + 2 * 4, "there is one event for each transition of each member"
    positions = [event.pos for event in log]
    assert positions == sorted(set(positions)), f"positions do not rise strictly: {positions}"
    assert len({(event.job_id, event.seq) for event in log}) == len(log), "an event stands in two places"
    assert await pair.other.reads.last_pos() == positions[-1]
    for number, pos in enumerate(positions):
        behind = await pair.other.reads.log(pos, 3)
        assert behind == log[number + 1 : number + 4], f"behind {pos} in the middle of a batch the log is another"
        assert await pair.other.reads.unsealed(pos) == len(log) - number - 1


async def a_reader_sees_each_event_once_however_it_reads(pair: Pair) -> None:
    await lived(pair)
    log = await pair.store.reads.log(0, ALL)
    for limit in (1, 2, 3, ALL):
        feed = pair.other.log.feed()
        assert bare(await followed(feed, limit, len(log))) == bare(log), (
            f"by {limit} a reader sees other events, or some twice"
        )
        assert feed.position >= log[-1].pos
        assert await feed.next(limit) == []
    for number in range(0, len(log), 3):
        feed, rest = pair.store.log.feed(log[number].pos), len(log) - number - 1
        assert bare(await followed(feed, 1, rest)) == bare(log[number + 1 :]), (
            "a reader that starts in a batch misses its rest"
        )
    first = pair.store.log.feed()
    for event in log[:4]:
        assert bare(await followed(first, 1, 1)) == bare([event])
        later = await followed(pair.other.log.feed(first.position), 2, 2)
        assert bare(later) == bare(log[log.index(event) + 1 :][:2]), (
            "what one reader has seen is not where another starts"
        )


async def every_way_to_read_the_log_tells_the_same(pair: Pair) -> None:
    batch, reads = await lived(pair), pair.other.reads
    log = sorted(await reads.log(0, ALL))
    for size in (1, 3, ALL):
        streamed = [event async for events in reads.all_events(batch=size) for event in events]
        places = [(event.job_id, event.seq) for event in streamed]
        assert places == sorted(set(places)), f"by {size} they come in another order, or twice"
        assert sorted(bare(streamed)) == bare(log), f"by {size} a stream tells of other events"
    counted = await reads.events_since({event.type for event in log}, 0)
    for kind, count in counted.items():
        wanted = bare(event for event in log if event.type == kind)
        assert sorted(bare(await reads.events_by_type(kind))) == wanted, f"of {kind} there are others"
        assert count == len(wanted)
    assert sum(counted.values()) == len(log)
    assert sorted(bare(await reads.events_by_correlation("c"))) == bare(log)
    attempts = await reads.attempts(batch[0].id)
    seen = [(attempt.number, attempt.owner, attempt.end, attempt.reason) for attempt in attempts]
    assert seen == [(1, WORKER, "job_retry_scheduled", "later"), (2, RIVAL, None, None)], f"its attempts were {seen}"


async def writers_at_once_mix_up_no_members(pair: Pair) -> None:
    batch = await batch_of(pair, 12)
    feed = pair.other.log.feed()
    calls = [
        store.jobs.apply([batch.along(range(first, 12, 4), command)])
        for first, command, store in (
            (0, "succeed", pair.store),
            (1, "fail", pair.other),
            (2, "cancel", pair.store),
            (3, "hand_back", pair.other),
        )
    ]
    await together(*calls)
    log = await pair.store.reads.log(0, ALL)
    assert bare(await followed(feed, 2, len(log))) == bare(log)
    ends = {event.job_id: event.type for event in log}
    wanted = ("job_succeeded", "job_failed", "job_cancelled", "job_handed_back")
    assert [ends[job.id] for job in batch.jobs] == [*wanted] * 3, (
        "a report of one batch is written to another's members"
    )


async def a_seal_covers_each_event_of_a_batch(pair: Pair) -> None:
    batch = await lived(pair)
    assert len(await Sealer(pair.store).seal_all()) == 1
    first, *_, last = await pair.store.reads.log(0, ALL)
    await pair.store.jobs.apply([batch.along([2], "start")])
    await pair.other.jobs.apply([batch.along([2], "hand_back")._replace(moves=[Move(batch[2].id, 2)])])
    assert await pair.other.reads.unsealed(last.pos) == 1, "a refused report is to be sealed"
    assert len(await Sealer(pair.other).seal_all()) == 1
    numbers = []
    for event in await pair.store.reads.log(0, ALL):
        seal = await pair.store.reads.seal_of(event.pos)
        assert seal is not None, f"no seal covers {event}"
        numbers.append(seal.number)
    assert numbers == [numbers[0]] * (len(numbers) - 1) + [numbers[0] + 1]
    [one, two] = await pair.other.reads.seals()
    assert (one.first_pos, one.count, two.count) == (first.pos, len(numbers) - 1, 1), "a seal counts other events"
    assert one.last_pos >= last.pos


CHECKS: tuple[Check, ...] = (
    each_member_has_its_events_and_no_others,
    the_events_of_a_batch_stand_each_in_its_own_place,
    a_reader_sees_each_event_once_however_it_reads,
    every_way_to_read_the_log_tells_the_same,
    writers_at_once_mix_up_no_members,
    a_seal_covers_each_event_of_a_batch,
)
