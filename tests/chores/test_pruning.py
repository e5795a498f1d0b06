"""Retention removes jobs or their payloads, and the log still adds up: what is gone is on record."""

import json

import pytest

from holdfast.audit.certificates import prove
from holdfast.audit.verdict import verify
from holdfast.chores.pruner import Pruner
from holdfast.chores.sealer import Sealer
from holdfast.kernel.policy import DAY_MS
from holdfast.store.port import Signal
from tests.audit.made import Made


async def test_a_pruned_job_is_gone_with_all_that_belonged_to_it(made: Made) -> None:
    gone = [made.ids[name] for name in ("rich", "dead", "box")]
    await made.store.jobs.signal([Signal(gone[0], 1, "job_progress", "worker-1")])
    events = [await made.store.reads.events(job_id) for job_id in gone]
    record = await made.store.upkeep.prune(gone)
    assert record is not None
    assert (record.number, record.kind, record.jobs) == (1, "jobs", 3)
    assert record.events == sum(map(len, events))
    places = [(name, "id") for name in ("job", "rest", "ready")]
    for table, column in (*places, *((name, "job_id") for name in ("events", "signal", "dead", "key"))):
        rows = made.sql(f"SELECT {column} FROM holdfast_{table}")
        assert {str(row[0]) for row in rows} & set(gone) == set()
    report = await made.audit()
    assert report.violations == []
    # Its key is free again.
    assert (await made.lives.submit("box", "sandbox", key="box-1")) not in gone


async def test_only_finished_and_sealed_jobs_are_pruned(made: Made) -> None:
    unsealed = await made.lives.submit("fresh")
    await made.lives.do("fresh", "cancel")
    cleaning = await made.lives.submit("box2", "sandbox")
    await made.lives.succeed("box2")
    await made.lives.do("box2", "clean")
    live = [made.ids[name] for name in ("delayed", "at_work", "handed_back", "third")]
    assert (
        await made.store.upkeep.prune([unsealed, *live, cleaning, "no id", "00000000-0000-7000-8000-000000000000"])
        is None
    )
    await Sealer(made.store).seal_all()
    record = await made.store.upkeep.prune([unsealed, *live, cleaning])
    assert record is not None
    assert record.jobs == 1
    assert await made.store.reads.get(cleaning) is not None
    assert (await made.audit()).violations == []


async def test_purged_payloads_leave_their_digests(made: Made) -> None:
    job_id = made.ids["rich"]
    live = made.ids["at_work"]
    record = await made.store.upkeep.purge_payloads([job_id, made.ids["dead"], live])
    assert record is not None
    assert (record.kind, record.jobs, record.events) == ("payloads", 2, 11)
    job = await made.store.reads.get(job_id)
    assert job is not None
    assert (job.payload, job.outcome) == (None, None)
    assert job.payload_digest is not None
    assert job.outcome_digest is not None
    events = await made.store.reads.events(job_id)
    assert [event.payload for event in events] == [None] * 7
    assert events[3].payload_digest is not None
    [dead] = [dead for dead in await made.store.reads.dead() if dead.job_id == made.ids["dead"]]
    assert dead.last_error is None
    assert (await made.audit()).violations == []
    assert await made.store.upkeep.purge_payloads([job_id]) is None


async def test_a_payload_removed_by_hand_is_named(made: Made) -> None:
    job_id = made.ids["dead"]
    await made.store.upkeep.purge_payloads([job_id])
    made.sql("DELETE FROM holdfast_purge")
    report = await made.audit()
    assert {(v.invariant, v.job_id, v.seq) for v in report.violations} == {
        ("I19", job_id, None),
        ("I19", job_id, 4),
    }


async def test_the_pruner_keeps_what_is_to_be_kept(made: Made) -> None:
    pruner = Pruner(made.store)
    assert (await pruner.run_once(made.now_ms))[:2] == (0, 0)
    # One has a keep_until of its own that is over by now; its lifecycle alone would keep it for ever.
    hour_ms = 3_600_000
    run = await pruner.run_once(made.now_ms + 2 * hour_ms)
    assert (run.jobs, run.events, run.swept) == (1, 7, True)
    assert await made.store.reads.get(made.ids["rich"]) is None
    # After 14 days the finished nodes of workflows go, after 90 the crawls; the rest has no time set.
    assert (await pruner.run_once(made.now_ms + 15 * DAY_MS)).jobs == 3
    assert (await pruner.run_once(made.now_ms + 91 * DAY_MS)).jobs == 1
    assert (await pruner.run_once(made.now_ms + 9_999 * DAY_MS)).jobs == 0
    report = await made.audit()
    assert report.violations == []
    for name in ("lost", "dead", "box"):
        assert verify(await prove(made.store, made.ids[name])).ok


async def test_the_pruner_drops_what_has_expired(made: Made) -> None:
    await made.store.jobs.signal([Signal(made.ids["at_work"], 1, "job_heartbeat", "worker-1")] * 3, ttl_ms=1000)
    await made.store.jobs.signal([Signal(made.ids["at_work"], 1, "job_heartbeat", "worker-1")], ttl_ms=9000)
    await made.store.jobs.submit([], op_id="none")
    await made.store.jobs.apply([], op_id="some")
    run = await Pruner(made.store).run_once(made.clock.now_ms + 1000)
    assert (run.signals, run.ops) == (3, 0)
    run = await Pruner(made.store).run_once(made.clock.now_ms + 2 * DAY_MS)
    assert (run.signals, run.ops) == (1, 1)


PURGE_COLUMNS = ("number", "at_ms", "kind", "jobs", "events", "first_pos", "last_pos", "ranges", "digest")


@pytest.mark.parametrize("column", [*PURGE_COLUMNS, "removed"])
async def test_a_changed_purge_record_is_named(made: Made, column: str) -> None:
    for name in ("lost", "cancelled", "branch"):
        assert await made.store.upkeep.prune([made.ids[name]]) is not None
    await made.lives.submit("after")
    await Sealer(made.store).seal_all()
    assert (await made.audit()).violations == []
    record = (await made.store.reads.purges())[1]
    values = {
        "number": 77,
        "kind": "payloads",
        "digest": bytes(32),
        "ranges": json.dumps([record.first_pos + 1, record.events]),
    }
    if column == "removed":
        made.sql("DELETE FROM holdfast_purge WHERE number = 2")
    else:
        value = values[column] if column in values else getattr(record, column) + 1
        made.sql(f"UPDATE holdfast_purge SET {column} = ? WHERE number = 2", value)
    report = await made.audit()
    said = [v.message for v in report.violations if v.invariant == "I19" and v.job_id is None]
    assert any("purge record 2 " in text for text in said), report.violations


async def test_a_record_cannot_be_made_up_for_a_job_removed_by_hand(made: Made) -> None:
    """A tampered purge table that is consistent in itself: the seal behind it knew another digest."""
    from holdfast.kernel.proof.purge import pack_ranges, purge_digest

    assert await made.store.upkeep.prune([made.ids["cancelled"]]) is not None
    await made.lives.submit("after")
    await Sealer(made.store).seal_all()
    [record] = await made.store.reads.purges()
    victim = await made.store.reads.events(made.ids["second"])
    await made.drop_rows(made.ids["second"])
    made.drop_job(made.ids["second"])
    [(first, count)] = [(record.first_pos, record.events)]
    positions = [*range(first, first + count), *(event.pos for event in victim)]
    forged = record._replace(jobs=2, events=len(positions), last_pos=max(positions), ranges=pack_ranges(positions))
    digest = purge_digest(bytes(32), *forged[:-1])
    made.sql(
        "UPDATE holdfast_purge SET jobs = ?, events = ?, last_pos = ?, ranges = ?, digest = ?",
        forged.jobs,
        forged.events,
        forged.last_pos,
        forged.ranges,
        digest,
    )
    report = await made.audit()
    assert "the purges that seal 4 knew of are not the recorded ones" in [v.message for v in report.violations]
