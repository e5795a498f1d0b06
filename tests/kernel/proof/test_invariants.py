"""Each invariant, broken by hand and found by its name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from holdfast.catalog import BUILT_IN
from holdfast.kernel.durable import DURABLE
from holdfast.kernel.event import Event
from holdfast.kernel.graph.workflow_lifecycle import WORKFLOW
from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.proof.invariants import Inspector, Violation
from holdfast.systems.crawl.lifecycle import CRAWL
from holdfast.systems.pipeline.lifecycle import PIPELINE
from holdfast.systems.sandbox.lifecycle import SANDBOX
from tests.kernel.lives import JOB_ID, event, lived

INSPECTOR = Inspector(BUILT_IN)
Break = Callable[[Job, list[Event]], tuple[Job | None, list[Event]]]

SOUND: list[tuple[Lifecycle, tuple[str, ...]]] = [
    (CRAWL, ()),
    (CRAWL, ("claim", "retry", "claim", "lose", "claim", "succeed")),
    (DURABLE, ("claim", "start", "hand_back", "claim", "start", "succeed")),
    (DURABLE, ("claim", "dead_letter")),
    (PIPELINE, ("claim", "take_over", "partial")),
    (WORKFLOW, ("claim", "cancel", "resume", "claim", "skip")),
    (SANDBOX, ("claim", "take_over", "start", "time_out", "clean", "cleaned")),
]


@pytest.mark.parametrize(("table", "way"), SOUND, ids=lambda value: getattr(value, "name", None))
def test_a_job_that_went_by_the_table_breaks_nothing(table: Lifecycle, way: tuple[str, ...]) -> None:
    assert INSPECTOR.job(*lived(table, *way)) == []


def at_event(number: int, **changes: object) -> Break:
    def breaking(job: Job, events: list[Event]) -> tuple[Job, list[Event]]:
        events[number - 1] = events[number - 1]._replace(**changes)  # type: ignore[arg-type]
        return job, events

    return breaking


def in_row(**changes: object) -> Break:
    return lambda job, events: (job._replace(**changes), events)  # type: ignore[arg-type]


def appended(*more: Event) -> Break:
    return lambda job, events: (job._replace(version=job.version + len(more)), [*events, *more])


RUN = ("claim", "start", "succeed")
AGAIN = ("claim", "retry", "claim")
SUCCEEDED_AGAIN = event(5, "job_succeeded", "running", "succeeded", 1)
FAILED_TOO = event(5, "job_failed", "running", "failed", 1)
CLAIMED_AGAIN = event(4, "job_started", "queued", "running", 1, actor="another")

BROKEN: dict[str, tuple[Lifecycle, tuple[str, ...], Break, str, str]] = {
    "a step that is no row": (DURABLE, RUN, at_event(4, type="job_melted"), "I1", "no row of durable"),
    "a jump": (DURABLE, RUN, at_event(2, to_state="succeeded"), "I1", "no row of durable"),
    "a foreign beginning": (CRAWL, (), at_event(1, type="job_submitted"), "I1", "no row of crawl"),
    "an event is gone": (DURABLE, RUN, lambda job, events: (job, events[:2] + events[3:]), "I2", "event 3"),
    "the first is gone": (DURABLE, RUN, lambda job, events: (job, events[1:]), "I2", "event 1 is missing"),
    "an event twice": (DURABLE, RUN, lambda job, events: (job, [*events[:2], *events[1:]]), "I2", "event 3"),
    "the last is gone": (DURABLE, RUN, lambda job, events: (job, events[:-1]), "I3", "state is 'succeeded'"),
    "a step from elsewhere": (
        DURABLE,
        ("claim", "start", "cancel"),
        at_event(4, from_state="queued"),
        "I3",
        "starts in queued, the last ended in running",
    ),
    "no events": (DURABLE, RUN, lambda job, _: (job, []), "I3", "a row without events"),
    "no row": (DURABLE, RUN, lambda _, events: (None, events), "I3", "the job's row is gone"),
    "ready and not claimable": (DURABLE, RUN, in_row(ready=True), "I3", "ready is True"),
    "claimable and not ready": (DURABLE, (), in_row(ready=False), "I3", "ready is False"),
    "another task": (DURABLE, RUN, in_row(task="x"), "I3", "what was submitted"),
    "another payload": (DURABLE, RUN, in_row(payload="{}"), "I3", "what was submitted"),
    "another outcome": (DURABLE, RUN, in_row(outcome='{"result":2}'), "I3", "the outcome"),
    "no outcome": (DURABLE, RUN, in_row(outcome=None), "I3", "the outcome"),
    "an outcome from nowhere": (DURABLE, ("claim",), in_row(outcome="1"), "I3", "the outcome"),
    "an attempt that nothing opened": (DURABLE, RUN, at_event(3, attempt=2), "I4", "attempt 2, expected 1"),
    "an attempt that was not opened": (CRAWL, AGAIN, at_event(3, attempt=1), "I4", "attempt 1, expected 2"),
    "time falls": (DURABLE, RUN, at_event(3, at_ms=0), "I4", "time falls"),
    "back within the attempt": (
        CRAWL,
        ("claim",),
        appended(event(3, "job_started", "queued", "running", 1)),
        "I4",
        "rank 3 is followed by 3",
    ),
    "leased without an owner": (DURABLE, ("claim",), in_row(lease_owner=None), "I5", "leased to None"),
    "leased without an end": (DURABLE, ("claim",), in_row(lease_until_ms=None), "I5", "assigned"),
    "an owner of what is over": (DURABLE, RUN, in_row(lease_owner="w"), "I5", "leased to w"),
    "a lease on what waits": (DURABLE, (), in_row(lease_until_ms=5), "I5", "queued"),
    "a fence granted twice": (
        CRAWL,
        ("claim",),
        appended(CLAIMED_AGAIN._replace(seq=3)),
        "I5",
        "granted twice",
    ),
    "another's start": (DURABLE, RUN, at_event(3, actor="x"), "I6", "by x, but the fence was granted to w"),
    "another's success": (DURABLE, RUN, at_event(4, actor="x"), "I6", "granted to w"),
    "an end after the end": (DURABLE, RUN, appended(FAILED_TOO), "I7", "rank 4 is followed by 4"),
    "a success after failure": (
        DURABLE,
        ("claim", "start", "fail"),
        appended(SUCCEEDED_AGAIN),
        "I7",
        "rank 4 is followed by 4",
    ),
    "a second success": (DURABLE, RUN, appended(SUCCEEDED_AGAIN), "I8", "rank 4 is followed by 4"),
    "partial after success": (
        PIPELINE,
        ("claim", "succeed"),
        appended(event(4, "job_partial", "running", "partial", 1)),
        "I8",
        "rank 4 is followed by 4",
    ),
    "a success after the cancel": (
        DURABLE,
        ("claim", "start", "cancel"),
        appended(SUCCEEDED_AGAIN),
        "I9",
        "rank 4 is followed by 4",
    ),
    "more tries than allowed": (
        DURABLE,
        ("claim", "lose", "claim"),
        in_row(max_tries=1),
        "I10",
        "2 tries of 1",
    ),
    "fewer tries than none": (DURABLE, (), in_row(tries=-1), "I10", "-1 tries"),
    "an unknown lifecycle": (DURABLE, (), in_row(lifecycle="x"), "I1", "unknown lifecycle 'x'"),
}


@pytest.mark.rule("D04", "D05")
@pytest.mark.parametrize("case", BROKEN)
def test_a_breach_is_found_and_named(case: str) -> None:
    table, way, breaking, invariant, message = BROKEN[case]
    job, events = breaking(*lived(table, *way))
    found = INSPECTOR.job(job, events)
    assert [breach for breach in found if breach.invariant == invariant and message in breach.message], found
    assert {breach.job_id for breach in found} == {JOB_ID}


def test_every_invariant_of_one_job_is_among_the_cases() -> None:
    assert {case[3] for case in BROKEN.values()} == {f"I{number}" for number in range(1, 11)}


COLUMNS = [
    ("state", "failed"),
    ("attempt", 2),
    ("version", 9),
    ("tries", 2),
    ("losses", 1),
    ("due_at_ms", 1),
    ("lease_owner", "x"),
    ("created_at_ms", 1),
    ("changed_at_ms", 1),
    ("started_at_ms", None),
    ("finished_at_ms", None),
]


@pytest.mark.parametrize(("column", "value"), COLUMNS)
def test_a_column_that_the_events_do_not_tell_is_found(column: str, value: object) -> None:
    job, events = lived(DURABLE, *RUN)
    found = INSPECTOR.job(job._replace(**{column: value}), events)  # type: ignore[arg-type]
    assert [breach for breach in found if breach.message.startswith(f"{column} is {value!r}, its events say")]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("queue", "x"),
        ("priority", 1),
        ("max_tries", 9),
        ("lease_ms", 1),
        ("expires_at_ms", 5),
        ("keep_until_ms", 5),
        ("key_scope", "x"),
        ("key", "x"),
        ("correlation_id", "x"),
        ("trace_id", "x"),
        ("parent_id", "x"),
        ("tags", "{}"),
        ("options", "{}"),
    ],
)
def test_what_was_submitted_is_bound(column: str, value: object) -> None:
    job, events = lived(DURABLE, *RUN)
    [breach] = INSPECTOR.job(job._replace(**{column: value}), events)  # type: ignore[arg-type]
    assert breach == Violation("I3", JOB_ID, 1, "what was submitted is not what the row says now")


def test_a_purged_body_is_known_by_its_digest() -> None:
    from holdfast.kernel.job import text_digest

    job, events = lived(DURABLE, *RUN)
    purged = job._replace(
        payload=None,
        payload_digest=text_digest(job.payload),
        outcome=None,
        outcome_digest=text_digest(job.outcome),
    )
    assert INSPECTOR.job(purged, events) == []
    assert INSPECTOR.job(purged._replace(outcome_digest=bytes(32)), events)


def test_a_breach_says_where_it_is() -> None:
    assert str(Violation("I2", "j", 3, "gone")) == "I2 job j event 3: gone"
    assert str(Violation("I19", None, None, "seal 4 does not verify")) == "I19 log: seal 4 does not verify"
