"""The audit names what was changed behind the store's back: which job, which event, which invariant."""

import hashlib
from typing import Any

import pytest
from uuid_utils import uuid7

from holdfast.audit.auditor import Progress, Report, audit
from holdfast.kernel.event import Event
from holdfast.kernel.job import Job
from tests.audit.made import Made

DIGEST = hashlib.sha256(b"another").digest()


def found(report: Report, job_id: str | None, invariant: str) -> list[str]:
    """What the report says about a job under one invariant."""
    return [f"{v.seq}: {v.message}" for v in report.violations if (v.job_id, v.invariant) == (job_id, invariant)]


def another(value: Any) -> Any:
    """A value of the same type that is not this one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, bytes):
        return DIGEST
    return f"{value}x"


@pytest.mark.rule("C16", "D25")
async def test_an_untouched_log_is_clean(made: Made) -> None:
    report = await made.audit()
    assert report.violations == []
    [(jobs,)] = made.sql("SELECT count(*) FROM holdfast_job")
    [(events,)] = made.sql("SELECT count(*) FROM holdfast_event")
    assert (report.jobs, report.events, report.seals, report.unsealed) == (jobs, events, 3, 0)


async def test_the_passes_in_their_own_processes_find_the_same(made: Made) -> None:
    made.sql("UPDATE holdfast_event SET actor = 'mallory' WHERE job_id = ? AND seq = 2", made.ids["lost"])
    seen: list[Progress] = []
    apart = await audit(made.url, on_progress=seen.append)
    alone = await made.audit()
    assert apart[:6] == alone[:6]
    assert apart.total_violations > 0
    assert {progress.what for progress in seen} == {"jobs", "seals"}


EVENT_COLUMNS = Event._fields[:15]
MARKS = {name: pytest.mark.rule("D27", "C16") for name in ("at_ms", "actor", "reason", "cause", "type", "payload")} | {
    "schema_version": pytest.mark.rule("D29", "C16")
}


@pytest.mark.parametrize("column", [pytest.param(name, marks=MARKS.get(name, ())) for name in EVENT_COLUMNS])
async def test_a_changed_event_is_named(made: Made, column: str) -> None:
    job_id = made.ids["rich"]
    event = (await made.store.reads.events(job_id))[3]
    value = getattr(event, column)
    values = {
        "pos": event.pos + 100_000,
        "job_id": str(uuid7()),
        "seq": 77,
        "cause": "somebody",
        "payload_digest": DIGEST,
        "to_state": "retry_pending",
    }
    made.sql(
        f"UPDATE holdfast_event SET {column} = ? WHERE job_id = ? AND seq = ?",
        values.get(column, another(value)),
        job_id,
        event.seq,
    )
    report = await made.audit()
    [named] = found(report, job_id, "I19")
    assert named.startswith("4: ")
    assert f"position {event.pos} " in named


@pytest.mark.rule("C16")
async def test_a_removed_event_is_named(made: Made) -> None:
    job_id = made.ids["rich"]
    [pos] = [event.pos for event in await made.store.reads.events(job_id) if event.seq == 5]
    made.sql("DELETE FROM holdfast_event WHERE job_id = ? AND seq = 5", job_id)
    report = await made.audit()
    assert found(report, job_id, "I19") == [f"5: the event at position {pos} was removed"]
    assert found(report, job_id, "I2") == ["6: event 5 is missing"]


@pytest.mark.parametrize("pos", [0, -5, None], ids=["zero", "negative", "in the place of another"])
async def test_an_inserted_event_is_named(made: Made, pos: int | None) -> None:
    victim = await made.store.reads.events(made.ids["lost"])
    if pos is None:
        pos = victim[1].pos
        made.sql("DELETE FROM holdfast_event WHERE job_id = ? AND seq = 2", victim[0].job_id)
    job_id = made.ids["delayed"]
    made.sql(
        "INSERT INTO holdfast_event (pos, job_id, seq, type, from_state, to_state, at_ms, actor, attempt)"
        " VALUES (?, ?, 2, 'job_cancelled', 'queued', 'cancelled', ?, 'mallory', 1)",
        pos,
        job_id,
        made.now_ms,
    )
    report = await made.audit()
    if pos > 0:
        [named] = found(report, victim[0].job_id, "I19")
        assert named.startswith(f"2: the event at position {pos} is not the one that was sealed")
        assert named.endswith(f"of job {job_id}")
    else:
        assert found(report, job_id, "I19") == [f"2: the event at position {pos} was inserted"]
    assert found(report, job_id, "I3") != []


@pytest.mark.rule("C16", "D25")
async def test_a_job_that_is_gone_without_a_trace_is_named(made: Made) -> None:
    job_id = made.ids["second"]
    for table in ("event", "signal", "dead", "key"):
        made.sql(f"DELETE FROM holdfast_{table} WHERE job_id = ?", job_id)
    made.sql("DELETE FROM holdfast_job WHERE id = ?", job_id)
    report = await made.audit()
    assert found(report, job_id, "I19") == ["None: the job is gone: its row and all its events were removed"]
    assert report.total_violations == 1


# No event determines these two: a lease is renewed and a cancel asked for without a transition.
FREE = {"lease_until_ms", "cancel_requested"}
JOB_COLUMNS = [name for name in Job._fields if name not in FREE]
INVARIANT = {"lifecycle": "I1", "lease_owner": "I5"}


@pytest.mark.parametrize("column", JOB_COLUMNS)
async def test_a_changed_row_is_named(made: Made, column: str) -> None:
    job_id = made.ids["rich"]
    job = await made.store.reads.get(job_id)
    assert job is not None
    values = {
        "id": str(uuid7()),
        "parent_id": str(uuid7()),
        "ready": True if made.url.startswith("postgres") else 1,
        "lifecycle": "crawling",
        "state": "failed",
        "tries": 1,
        "payload_digest": DIGEST,
        "outcome_digest": DIGEST,
        "lease_owner": "mallory",
    }
    value = values.get(column, another(getattr(job, column)))
    made.sql(f"UPDATE holdfast_job SET {column} = ? WHERE id = ?", value, job_id)
    report = await made.audit()
    assert found(report, job_id, INVARIANT.get(column, "I3")) != [], report.violations


async def test_a_row_without_events_and_events_without_a_row_are_named(made: Made) -> None:
    made.sql("DELETE FROM holdfast_job WHERE id = ?", made.ids["lost"])
    made.sql("DELETE FROM holdfast_event WHERE job_id = ?", made.ids["branch"])
    report = await made.audit()
    assert found(report, made.ids["lost"], "I3") == ["None: 7 events, but the job's row is gone"]
    assert found(report, made.ids["branch"], "I3") == ["None: a row without events"]
    assert len(found(report, made.ids["branch"], "I19")) == 3


async def test_dead_letters_and_keys_must_match_their_jobs(made: Made) -> None:
    made.sql("DELETE FROM holdfast_dead WHERE job_id = ?", made.ids["dead"])
    made.sql(
        "UPDATE holdfast_job SET finished_at_ms = NULL, key_scope = 'k', key = '1' WHERE task IN (?, ?)",
        "task.dead",
        "task.lost",
    )
    report = await made.audit()
    assert found(report, made.ids["dead"], "I13") == ["None: dead_lettered without a dead letter"]
    assert len(found(report, made.ids["dead"], "I11")) == 1


async def test_a_key_may_pass_on_when_its_window_is_over(made: Made) -> None:
    day_ms = 86_400_000
    first = await made.lives.submit("window", "crawl", key="w", key_scope="s")
    made.clock.pass_ms(day_ms)
    second = await made.lives.submit("window2", "crawl", key="w", key_scope="s")
    assert first != second
    assert (await made.audit()).violations == []


async def test_a_window_of_its_own_is_on_record(made: Made) -> None:
    """Shorter than its lifecycle's, and over: no alarm. Not over, and the key in two hands: an alarm."""
    first = await made.lives.submit("brief", "crawl", key="w", key_scope="s", key_window_ms=1_000, delay_ms=9_000)
    made.clock.pass_ms(1_000)
    second = await made.lives.submit("brief2", "crawl", key="w", key_scope="s", key_window_ms=1_000)
    assert (await made.audit()).violations == []
    made.sql("UPDATE holdfast_job SET created_at_ms = created_at_ms - 1000 WHERE id = ?", second)
    assert len(found(await made.audit(), second, "I11")) + len(found(await made.audit(), first, "I11")) == 1


SEAL_COLUMNS = (
    "number",
    "first_pos",
    "last_pos",
    "last_pos-",
    "count",
    "root",
    "previous",
    "head",
    "purges",
    "sealed_at_ms",
)


@pytest.mark.parametrize("column", SEAL_COLUMNS)
async def test_a_changed_seal_is_named(made: Made, column: str) -> None:
    [_, seal, _] = await made.store.reads.seals()
    values = {"number": 99, "last_pos": seal.last_pos + 1000, "last_pos-": seal.last_pos - 1}
    name = column.rstrip("-")
    value = values.get(column, another(getattr(seal, name)))
    made.sql(f"UPDATE holdfast_seal SET {name} = ? WHERE number = 2", value)
    report = await made.audit()
    assert any("seal 2 " in text for text in found(report, None, "I19")), report.violations
    assert found(report, made.ids["rich"], "I19") == []


@pytest.mark.parametrize("manifest", [None, b"", b"\x01", "flip"])
async def test_a_changed_manifest_is_named(made: Made, manifest: bytes | str | None) -> None:
    [_, seal, _] = await made.store.reads.seals()
    assert seal.manifest is not None
    places = range(0, len(seal.manifest), 7) if manifest == "flip" else [0]
    for place in places:
        flipped = bytearray(seal.manifest)
        flipped[place] ^= 0x10
        made.sql(
            "UPDATE holdfast_seal SET manifest = ? WHERE number = 2",
            bytes(flipped) if manifest == "flip" else manifest,
        )
        report = await made.audit()
        assert any(v.invariant == "I19" for v in report.violations), place
        if manifest == "flip" and place > 40:
            break


@pytest.mark.parametrize("number", [1, 2])
async def test_a_removed_seal_is_named(made: Made, number: int) -> None:
    made.sql("DELETE FROM holdfast_seal WHERE number = ?", number)
    report = await made.audit()
    assert f"None: seal {number} is missing: the next one is {number + 1}" in found(report, None, "I19")
    assert all(v.job_id is None for v in report.violations)


async def test_violations_beyond_the_most_are_counted(made: Made) -> None:
    made.sql("UPDATE holdfast_event SET actor = 'mallory'")
    report = await audit(made.url, most=5, processes=False)
    assert len(report.violations) == 5
    assert report.total_violations > 50
