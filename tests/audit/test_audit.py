"""The audit names what was changed behind the store's back: which job, which event, which invariant."""

import hashlib
import json
from typing import Any

import pytest
from uuid_utils import uuid7

from holdfast.audit.auditor import Progress, Report, audit
from holdfast.kernel.durable import DURABLE
from holdfast.kernel.event import Event
from holdfast.kernel.job import Spec
from holdfast.kernel.move import Change
from holdfast.kernel.outcome import Done
from holdfast.kernel.settle import settle
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
    [(events,)] = made.sql("SELECT count(*) FROM holdfast_events")
    assert (report.jobs, report.events, report.seals, report.unsealed) == (jobs, events, 3, 0)


async def test_the_passes_in_their_own_processes_find_the_same(made: Made) -> None:
    row, _ = await made.row_of(made.ids["lost"], 2)
    made.sql("UPDATE holdfast_log SET actor = 'mallory' WHERE pos = ?", row.pos)
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


OF_EACH = {
    "job_id": "ids",
    "seq": "versions",
    "attempt": "attempts",
    "reason": "reasons",
    "cause": "causes",
    "payload": "payloads",
    "payload_digest": "payload_digests",
    "digest": "digests",
}
"""Where a row of the log says of each of its jobs what differs."""

STEP = {"type": 0, "from_state": 1, "to_state": 2}
"""Where a step of a path says what is the same for all of them."""


@pytest.mark.parametrize("column", [pytest.param(name, marks=MARKS.get(name, ())) for name in EVENT_COLUMNS])
async def test_a_changed_event_is_named(made: Made, column: str) -> None:
    job_id = made.ids["rich"]
    event = (await made.store.reads.events(job_id))[3]
    row, i = await made.row_of(job_id, event.seq)
    values = {
        "pos": event.pos + 100_000_000,
        "job_id": str(uuid7()),
        "seq": 77,
        "cause": "somebody",
        "payload_digest": DIGEST,
        "to_state": "retry_pending",
    }
    value = values.get(column, another(getattr(event, column)))
    if column in OF_EACH:
        made.set_in_row(row.pos, OF_EACH[column], i, value)
    elif column in STEP:
        path = json.loads(row.path)
        path[-1][STEP[column]] = value
        made.sql("UPDATE holdfast_log SET path = ? WHERE pos = ?", json.dumps(path), row.pos)
    else:
        made.sql(f"UPDATE holdfast_log SET {column} = ? WHERE pos = ?", value, row.pos)
    report = await made.audit()
    [named] = found(report, job_id, "I19")
    assert named.startswith("4: ")
    assert f"position {event.pos} " in named


FIRST_COLUMNS = {
    "pos": "pos",
    "type": "event_type",
    "to_state": "state",
    "at_ms": "created_at_ms",
    "actor": "actor",
    "reason": "reason",
    "cause": "cause",
    "payload": "event_payload",
    "payload_digest": "event_payload_digest",
    "digest": "digest",
}
"""Where a job's row says what its first event does."""


@pytest.mark.parametrize("column", FIRST_COLUMNS)
async def test_a_changed_first_event_is_named(made: Made, column: str) -> None:
    job_id = made.ids["rich"]
    event = (await made.store.reads.events(job_id))[0]
    values = {"pos": event.pos + 100_000_000, "payload_digest": DIGEST, "to_state": "waiting"}
    value = values.get(column, another(getattr(event, column)))
    made.sql(f"UPDATE holdfast_job SET {FIRST_COLUMNS[column]} = ? WHERE id = ?", value, job_id)
    report = await made.audit()
    named = [text for text in found(report, job_id, "I19") if text.startswith("1: ")]
    assert len(named) == 1, report.violations
    assert f"position {event.pos} " in named[0]


@pytest.mark.rule("C16")
async def test_a_removed_event_is_named(made: Made) -> None:
    """Events of one step each: the row that one is of goes, and no other."""
    job_id = made.ids["rich"]
    [event] = [event for event in await made.store.reads.events(job_id) if event.seq == 4]
    made.sql("DELETE FROM holdfast_log WHERE pos = ?", event.pos)
    report = await made.audit()
    assert found(report, job_id, "I19") == [f"4: the event at position {event.pos} was removed"]
    assert found(report, job_id, "I2") == ["5: event 4 is missing"]


@pytest.mark.rule("C16")
async def test_a_job_that_is_taken_out_of_a_row_is_named(made: Made) -> None:
    """A claim is two events: both are missed."""
    job_id = made.ids["rich"]
    row, i = await made.row_of(job_id, 5)
    made.set_in_row(row.pos, "ids", i, None)
    report = await made.audit()
    assert found(report, job_id, "I19") == [
        f"{seq}: the event at position {pos} was removed" for seq, pos in ((5, row.pos), (6, row.pos + 1))
    ]
    assert found(report, job_id, "I2") == ["7: event 5 is missing"]


async def insert(made: Made, pos: int, job_id: str, prev: int) -> None:
    """One more row of the log, as if the job had been cancelled."""
    lists = ([job_id], [prev], [1], [2])
    given = lists if "://" in made.url else [json.dumps(values) for values in lists]
    made.sql(
        "INSERT INTO holdfast_log (pos, lifecycle, path, at_ms, actor, ids, prevs, attempts, versions)"
        f" VALUES (?, 'durable', ?, ?, 'mallory', {'?::uuid[]' if '://' in made.url else '?'}, ?, ?, ?)",
        *(pos, '[["job_cancelled","queued","cancelled",0]]', made.now_ms, *given),
    )


@pytest.mark.parametrize("pos", [0, -5, None], ids=["zero", "negative", "in the place of another"])
async def test_an_inserted_event_is_named(made: Made, pos: int | None) -> None:
    victim = await made.store.reads.events(made.ids["lost"])
    if pos is None:
        pos = victim[1].pos
        made.sql("DELETE FROM holdfast_log WHERE pos = ?", pos)
    job_id = made.ids["delayed"]
    await insert(made, pos, job_id, (await made.store.reads.events(job_id))[0].pos)
    report = await made.audit()
    if pos > 0:
        gone, named = found(report, victim[0].job_id, "I19")
        assert named.startswith(f"2: the event at position {pos} is not the one that was sealed")
        assert named.endswith(f"of job {job_id}")
        assert gone == f"3: the event at position {pos + 1} was removed"
    else:
        assert found(report, job_id, "I19") == [f"2: the event at position {pos} was inserted"]
    assert found(report, job_id, "I3") != []


async def test_an_event_that_is_inserted_behind_the_last_seal_is_named(made: Made) -> None:
    """No seal knows better, and nothing leads to it."""
    job_id = made.ids["delayed"]
    pos = await made.store.reads.last_pos() + 4096
    await insert(made, pos, job_id, (await made.store.reads.events(job_id))[0].pos)
    report = await made.audit()
    assert report.unsealed == 1
    assert any("state is 'queued', its events say 'cancelled'" in text for text in found(report, job_id, "I3"))
    assert {v.job_id for v in report.violations} == {job_id}


@pytest.mark.rule("C16", "D25")
async def test_a_job_that_is_gone_without_a_trace_is_named(made: Made) -> None:
    job_id = made.ids["second"]
    await made.drop_rows(job_id)
    for table in ("signal", "dead", "key"):
        made.sql(f"DELETE FROM holdfast_{table} WHERE job_id = ?", job_id)
    made.drop_job(job_id)
    report = await made.audit()
    assert found(report, job_id, "I19") == ["None: the job is gone: its row and all its events were removed"]
    assert report.total_violations == 1


JOB_COLUMNS = (
    *("id", "pos", "lifecycle", "task", "queue", "priority", "state", "max_tries", "lease_ms", "due_at_ms"),
    *("created_at_ms", "expires_at_ms", "keep_until_ms", "key_scope", "key", "correlation_id", "trace_id"),
    *("parent_id", "tags", "options", "payload", "payload_digest", "event_type", "digest"),
)
"""What a job's row says. No event determines its turn, which falls as its deadline comes near, nor its gate."""

AT_REST = (
    *("id", "state", "attempt", "version", "tries", "losses", "due_at_ms", "changed_at_ms", "started_at_ms"),
    *("finished_at_ms", "pos", "outcome", "outcome_digest", "expires_at_ms"),
)
WAITING = (
    *("queue", "lifecycle", "state", "turn", "gate", "due_at_ms", "id", "attempt", "version", "tries", "losses"),
    *("changed_at_ms", "started_at_ms", "expires_at_ms", "pos", "outcome", "moved"),
)
AS_SUBMITTED = tuple(name for name in WAITING if name != "moved")
"""Where a job stands that has not moved, it is found either way."""
CAME_BACK = tuple(name for name in WAITING if name != "turn")
"""Its turn may be another than the one that it was submitted with."""

LEASED = ("pos", "queue", "lifecycle", "state", "gate", "owner", "low", "high", "gone")
OF_THE_LEASED = ("tries", "losses", "starts", "dues", "expiries", "outcomes", "ids", "prevs", "attempts", "versions")
HELD = (
    *("id", "queue", "lifecycle", "state", "gate", "owner", "attempt", "version", "tries", "losses", "due_at_ms"),
    *("changed_at_ms", "started_at_ms", "expires_at_ms", "pos", "outcome"),
)
"""Until when a lease is, and whether its worker was asked to stop, no event determines: there is none of either."""


async def assert_tampering_is_named(made: Made, table: str, column: str, name: str, invariants: set[str]) -> None:
    """Give a column of a job, or of where it stands, another value: the audit says so of that job."""
    job_id = made.ids[name]
    [(value,)] = made.sql(f"SELECT {column} FROM holdfast_{table} WHERE id = ?", job_id)
    values = {
        "id": str(uuid7()),
        "parent_id": str(uuid7()),
        "lifecycle": "crawling",
        "state": "failed",
        "tries": 1 - (value or 0) if column == "tries" else None,
        "payload_digest": DIGEST,
        "outcome_digest": DIGEST,
        "moved": not value,
    }
    given = another(value) if values.get(column) is None else values[column]
    if value is None and column not in values:
        given = made.now_ms + 7 if column.endswith("_ms") else '{"more":1}'
    made.sql(f"UPDATE holdfast_{table} SET {column} = ? WHERE id = ?", given, job_id)
    report = await made.audit()
    named = {v.invariant for v in report.violations if v.job_id == job_id}
    assert named & invariants, report.violations


@pytest.mark.parametrize("column", JOB_COLUMNS)
async def test_a_changed_job_is_named(made: Made, column: str) -> None:
    of_the_first_step = column in ("lifecycle", "state", "event_type")
    await assert_tampering_is_named(made, "job", column, "rich", {"I1"} if of_the_first_step else {"I3"})


@pytest.mark.parametrize("column", AT_REST)
async def test_a_changed_place_of_rest_is_named(made: Made, column: str) -> None:
    await assert_tampering_is_named(made, "rest", column, "rich", {"I3"})


@pytest.mark.parametrize("column", AS_SUBMITTED)
async def test_a_changed_place_in_a_lane_is_named(made: Made, column: str) -> None:
    await assert_tampering_is_named(made, "ready", column, "third", {"I3"})


@pytest.mark.parametrize("column", CAME_BACK)
async def test_a_changed_place_of_a_job_that_came_back_is_named(made: Made, column: str) -> None:
    await assert_tampering_is_named(made, "ready", column, "handed_back", {"I3"})


@pytest.mark.parametrize("column", HELD)
@pytest.mark.parametrize("made", ["sqlite"], indirect=True)
async def test_a_changed_place_in_somebodys_hands_is_named(made: Made, column: str) -> None:
    await assert_tampering_is_named(made, "held", column, "at_work", {"I3", "I5"})


@pytest.mark.parametrize("column", LEASED)
@pytest.mark.parametrize("made", ["postgres"], indirect=True)
async def test_a_changed_lease_is_named(made: Made, column: str) -> None:
    job_id = made.ids["at_work"]
    [(value,)] = made.sql(f"SELECT {column} FROM holdfast_lease")
    other, _ = await made.row_of(made.ids["lost"], 2)
    beyond = "ffffffff-ffff-7fff-8fff-ffffffffffff", "00000000-0000-7000-8000-000000000000"
    values = {"pos": other.pos, "low": beyond[0], "high": beyond[1], "gone": "1", "state": "assigned"}
    made.sql(f"UPDATE holdfast_lease SET {column} = ?", values.get(column, f"{value}x"))
    report = await made.audit()
    assert {v.invariant for v in report.violations if v.job_id == job_id} & {"I3", "I5"}, report.violations


@pytest.mark.parametrize("column", OF_THE_LEASED)
@pytest.mark.parametrize("made", ["postgres"], indirect=True)
async def test_what_a_row_says_of_leased_jobs_is_audited(made: Made, column: str) -> None:
    job_id = made.ids["at_work"]
    row, i = await made.row_of(job_id, 2)
    values = {"outcomes": '{"more":1}', "ids": str(uuid7()), "prevs": row.pos - 4096 * 5}
    made.set_in_row(row.pos, column, i, values.get(column, 7))
    report = await made.audit()
    assert [v for v in report.violations if v.job_id == job_id] != [], report.violations


async def test_a_job_in_two_places_is_named(made: Made) -> None:
    job_id = made.ids["third"]
    made.sql(
        "INSERT INTO holdfast_rest (id, state, attempt, version, tries, losses, changed_at_ms, pos)"
        " SELECT id, state, attempt, version, tries, losses, changed_at_ms, pos FROM holdfast_ready WHERE id = ?",
        job_id,
    )
    assert "None: it stands in 2 places" in found(await made.audit(), job_id, "I3")


async def test_a_job_that_is_twice_in_its_lane_is_named(made: Made) -> None:
    job_id = made.ids["third"]
    columns = ", ".join(name for name in WAITING if name not in ("due_at_ms", "moved"))
    made.sql(
        f"INSERT INTO holdfast_ready ({columns}, due_at_ms, moved)"
        f" SELECT {columns}, due_at_ms + 5, TRUE FROM holdfast_ready WHERE id = ?",
        job_id,
    )
    assert found(await made.audit(), job_id, "I3") == ["None: it stands in 2 places"]


@pytest.mark.parametrize("name", ["rich", "third", "handed_back", "at_work"])
async def test_a_job_that_stands_nowhere_is_named(made: Made, name: str) -> None:
    table = {"rich": "rest", "at_work": "lease" if "://" in made.url else "held"}.get(name, "ready")
    made.sql(f"DELETE FROM holdfast_{table}" + ("" if name == "at_work" else f" WHERE id = '{made.ids[name]}'"))
    report = await made.audit()
    assert [(v.invariant, v.job_id, v.message) for v in report.violations] == [
        ("I3", made.ids[name], "it stands nowhere")
    ]


@pytest.mark.parametrize("made", ["postgres"], indirect=True)
async def test_a_bit_of_a_lease_that_is_back_is_named(made: Made) -> None:
    """Two jobs under one lease, one of which is done: it is given out again."""
    ids = [str(uuid7()) for _ in range(2)]
    await made.store.jobs.submit([Spec(job_id, "durable", "task", queue="pair") for job_id in ids])
    jobs = await made.store.jobs.claim(["pair"], 2, "worker-1")
    path, one = settle(DURABLE, jobs[0], Done())
    await made.store.jobs.apply([Change(DURABLE, path, "worker-1", [one], "worker-1")])
    assert (await made.audit()).violations == []
    made.sql("UPDATE holdfast_lease SET gone = B'00' WHERE queue = 'pair'")
    report = await made.audit()
    assert found(report, jobs[0].id, "I3") == ["None: it stands in 2 places"]
    assert {v.job_id for v in report.violations} == {jobs[0].id}


async def test_a_way_back_that_passes_over_a_row_is_named(made: Made) -> None:
    """Every event is there and sealed, and still nobody would be shown it."""
    job_id = made.ids["rich"]
    events = await made.store.reads.events(job_id)
    (row, i), (before, j) = await made.row_of(job_id, 7), await made.row_of(job_id, 5)
    passed = before.prevs[j]
    made.set_in_row(row.pos, "prevs", i, passed)
    report = await made.audit()
    assert found(report, job_id, "I3") == [
        f"{event.seq}: no row of the log leads to the event at position {event.pos}" for event in events[4:6]
    ]
    assert report.total_violations == 2


@pytest.mark.parametrize("seq", [2, 4])
async def test_a_way_back_that_leads_nowhere_is_named(made: Made, seq: int) -> None:
    job_id = made.ids["rich"]
    row, i = await made.row_of(job_id, seq)
    made.set_in_row(row.pos, "prevs", i, 5)
    report = await made.audit()
    assert found(report, job_id, "I3") != []
    assert {v.job_id for v in report.violations} == {job_id}


@pytest.mark.parametrize("others", [0, 30], ids=["few jobs", "many jobs"])
async def test_a_way_back_that_goes_in_a_circle_ends(made: Made, others: int) -> None:
    await made.store.jobs.submit([Spec(str(uuid7()), "durable", "task", queue="other") for _ in range(others)])
    row, i = await made.row_of(made.ids["rich"], 4)
    made.set_in_row(row.pos, "prevs", i, row.pos)
    assert found(await made.audit(), made.ids["rich"], "I3") != []


@pytest.mark.parametrize(("column", "value"), [("path", "[["), ("path", '[["a"]]'), ("path", "7"), ("attempts", None)])
async def test_a_row_that_cannot_be_read_is_named(made: Made, column: str, value: str | None) -> None:
    row, i = await made.row_of(made.ids["rich"], 4)
    if column == "path":
        made.sql("UPDATE holdfast_log SET path = ? WHERE pos = ?", value, row.pos)
    else:
        made.set_in_row(row.pos, column, i, value)
    report = await made.audit()
    assert len(found(report, made.ids["rich"], "I19")) == 1
    assert {v.job_id for v in report.violations} == {made.ids["rich"]}


@pytest.mark.parametrize("others", [0, 30], ids=["few jobs", "many jobs"])
async def test_lists_of_a_row_that_are_too_short_are_named(made: Made, others: int) -> None:
    await made.store.jobs.submit([Spec(str(uuid7()), "durable", "task", queue="other") for _ in range(others)])
    row, _ = await made.row_of(made.ids["rich"], 4)
    made.sql("UPDATE holdfast_log SET versions = ? WHERE pos = ?", [] if "://" in made.url else "[]", row.pos)
    assert len(found(await made.audit(), made.ids["rich"], "I19")) == 1


async def test_a_row_without_events_and_events_without_a_row_are_named(made: Made) -> None:
    made.sql("DELETE FROM holdfast_job WHERE id = ?", made.ids["lost"])
    await made.drop_rows(made.ids["branch"])
    report = await made.audit()
    [gone, rests] = found(report, made.ids["lost"], "I3")
    assert {gone, rests} == {"None: 6 events, but the job's row is gone", "None: it rests, but its row is gone"}
    assert any(text.startswith("None: state is ") for text in found(report, made.ids["branch"], "I3"))
    assert len(found(report, made.ids["branch"], "I19")) == 2


async def test_dead_letters_and_keys_must_match_their_jobs(made: Made) -> None:
    made.sql("DELETE FROM holdfast_dead WHERE job_id = ?", made.ids["dead"])
    for name in ("dead", "lost"):
        made.sql("UPDATE holdfast_job SET key_scope = 'k', key = '1' WHERE id = ?", made.ids[name])
        made.sql("UPDATE holdfast_rest SET finished_at_ms = NULL WHERE id = ?", made.ids[name])
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
    made.sql("UPDATE holdfast_log SET actor = 'mallory'")
    made.sql("UPDATE holdfast_job SET actor = 'mallory'")
    report = await audit(made.url, most=5, processes=False)
    assert len(report.violations) == 5
    assert report.total_violations > 50
