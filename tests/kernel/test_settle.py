"""Where a job goes next: every outcome in every lifecycle, lost leases, expiry, dead letters."""

from __future__ import annotations

import json

import pytest

from holdfast.catalog import BUILT_IN
from holdfast.kernel.classify import PERMANENT_CODES, PUBLIC_CODES, TRANSIENT_CODES, Classifier, retryable
from holdfast.kernel.durable import DURABLE
from holdfast.kernel.errors import NotAllowedError
from holdfast.kernel.graph.workflow_lifecycle import WORKFLOW
from holdfast.kernel.job import DLQ_REASONS, DLQ_STAGES, Failure, Job
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.move import move
from holdfast.kernel.outcome import Cancelled, Done, Fail, Outcome, Partial, Retry, Skip, TimedOut
from holdfast.kernel.policy import Exhausted
from holdfast.kernel.proof.replay import replay
from holdfast.kernel.retry import RetryPolicy
from holdfast.kernel.settle import STALE, dead_letter, expired, lost, settle
from holdfast.systems.crawl.lifecycle import CRAWL
from holdfast.systems.pipeline.lifecycle import PIPELINE
from holdfast.systems.sandbox.lifecycle import SANDBOX
from tests.kernel.lives import JOB_ID, lived

FAILURE = Failure("network_error", "transient", "reset by 10.0.0.1", {"url": "u", "attempt": 1}, "fetch")


def running(table: Lifecycle, **columns: int) -> Job:
    way = ["claim"] if table.find("queued", "claim").target == "running" else ["claim", "start"]  # type: ignore[union-attr]
    job, _ = lived(table, *way)
    return job._replace(**columns)  # type: ignore[arg-type]


OUTCOMES: dict[str, Outcome] = {
    "done": Done("1"),
    "partial": Partial("1", "some failed"),
    "skip": Skip("not taken"),
    "retry": Retry(FAILURE),
    "fail": Fail(FAILURE),
    "dead": Fail(FAILURE, dead_reason="parse_error"),
    "compensated": Fail(FAILURE, compensated=True),
    "cancelled": Cancelled("asked"),
    "timed out": TimedOut(FAILURE),
}
COMMANDS = {
    "crawl": "succeed succeed succeed retry fail fail fail cancel retry",
    "durable": "succeed succeed succeed retry fail dead_letter compensate cancel retry",
    "pipeline": "succeed partial succeed fail fail fail fail cancel fail",
    "workflow": "succeed succeed skip retry fail fail fail cancel retry",
    "sandbox": "succeed succeed succeed fail fail fail fail cancel time_out",
}


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("ending", OUTCOMES)
def test_each_outcome_takes_its_row(name: str, ending: str) -> None:
    table = BUILT_IN[name]
    job = running(table)
    path, made = settle(table, job, OUTCOMES[ending])
    expected = dict(zip(OUTCOMES, COMMANDS[name].split(), strict=True))[ending]
    assert path == (table.row("running", expected),)
    assert (made.job_id, made.attempt) == (JOB_ID, job.attempt)
    assert (made.dead is not None) == (expected == "dead_letter")


def test_results_and_reasons_are_recorded() -> None:
    assert settle(CRAWL, running(CRAWL), Done('{"n":1}')).move.outcome == '{"result":{"n":1}}'
    assert settle(CRAWL, running(CRAWL), Done()).move.outcome is None
    made = settle(PIPELINE, running(PIPELINE), Partial("2")).move
    assert (made.reason, made.outcome) == ("partial", '{"result":2,"partial":true}')
    assert settle(WORKFLOW, running(WORKFLOW), Skip("branch_not_taken")).move.reason == "branch_not_taken"
    made = settle(SANDBOX, running(SANDBOX), Cancelled("enough", "3")).move
    assert (made.reason, made.outcome) == ("enough", '{"result":3,"partial":true}')


@pytest.mark.rule("C11")
@pytest.mark.parametrize("outcome", [Retry(FAILURE), Fail(FAILURE), TimedOut(FAILURE)])
@pytest.mark.parametrize("name", BUILT_IN)
def test_a_failure_is_recorded_in_event_and_outcome(name: str, outcome: Outcome) -> None:
    made = settle(BUILT_IN[name], running(BUILT_IN[name]), outcome).move
    assert made.reason == "network_error"
    assert json.loads(made.outcome or "")["error"] == FAILURE.to_dict()
    assert json.loads(made.payload or "")["error"] == FAILURE.to_dict()


@pytest.mark.rule("C06", "C07", "C12")
@pytest.mark.parametrize("code", sorted(TRANSIENT_CODES | PERMANENT_CODES | PUBLIC_CODES.keys()))
def test_each_code_of_a_crawl_is_retried_or_fails_at_once(code: str) -> None:
    known = Classifier().classify(code)
    assert known is not None
    failure = Failure(code, known, "m", {})
    path, made = settle(CRAWL, running(CRAWL), Retry(failure) if retryable(known) else Fail(failure))
    permanent = code in PERMANENT_CODES or PUBLIC_CODES.get(code, ("", ""))[1] in PERMANENT_CODES
    assert path[0].target == ("failed" if permanent else "retry_pending")
    assert made.delay_ms == (0 if permanent else 2_000)


@pytest.mark.rule("C06", "D11", "W10")
@pytest.mark.parametrize(
    ("table", "delays"),
    [(CRAWL, [2_000, 4_000, 8_000]), (DURABLE, [500, 1_000, 2_000]), (WORKFLOW, [2_000, 4_000, 8_000])],
    ids=["crawl", "durable", "workflow"],
)
def test_delays_grow_with_the_tries(table: Lifecycle, delays: list[int]) -> None:
    made = [settle(table, running(table, tries=n, max_tries=9), Retry(FAILURE)).move for n in (1, 2, 3)]
    assert [one.delay_ms for one in made] == delays
    assert [json.loads(one.payload or "")["delay_ms"] for one in made] == delays


@pytest.mark.rule("D11")
def test_chance_a_policy_and_a_failure_change_the_delay() -> None:
    job = running(DURABLE)
    assert settle(DURABLE, job, Retry(FAILURE), chance=0.5).move.delay_ms == 375
    own = RetryPolicy(max_tries=9, base_ms=7)
    assert settle(DURABLE, job, Retry(FAILURE), retry=own).move.delay_ms == 7
    assert settle(DURABLE, job, Retry(FAILURE, delay_ms=42), retry=own, chance=0.9).move.delay_ms == 42
    none = settle(DURABLE, job, Retry(FAILURE, delay_ms=0)).move
    assert (none.delay_ms, "delay_ms" in (none.payload or "")) == (0, False)


@pytest.mark.rule("D12")
@pytest.mark.parametrize("outcome", [Retry(FAILURE), TimedOut(FAILURE)])
@pytest.mark.parametrize(
    ("table", "policy", "state"),
    [
        (DURABLE, None, "failed"),
        (DURABLE, Exhausted.FAIL, "failed"),
        (DURABLE, Exhausted.DEAD_LETTER, "dead_lettered"),
        (CRAWL, None, "failed"),
        (CRAWL, Exhausted.DEAD_LETTER, "failed"),
        (WORKFLOW, None, "failed"),
    ],
    ids=lambda value: getattr(value, "name", None) or str(value),
)
def test_used_up_tries_end_the_job_as_its_type_says(
    table: Lifecycle, policy: Exhausted | None, state: str, outcome: Outcome
) -> None:
    job = running(table, tries=3, max_tries=3)
    path, made = settle(table, job, outcome, on_exhausted=policy)
    assert path[0].target == state
    if state == "dead_lettered":
        assert made.dead is not None
        assert made.dead.reason_code == made.reason == "exhausted_retries"


@pytest.mark.rule("D15", "D16", "D17")
@pytest.mark.parametrize("reason", sorted(DLQ_REASONS))
@pytest.mark.parametrize("stage", sorted(DLQ_STAGES))
def test_a_dead_letter_has_all_that_a_person_needs(reason: str, stage: str) -> None:
    job = running(DURABLE, tries=2, attempt=4)
    path, made = dead_letter(DURABLE, job, FAILURE._replace(stage=stage), reason)
    assert path == (DURABLE.row("running", "dead_letter"),)
    dead = made.dead
    assert dead is not None
    assert (dead.reason_code, dead.stage, dead.attempts, dead.last_owner) == (reason, stage, 4, "w")
    assert dead.last_lease_expires_at_ms == job.lease_until_ms
    assert json.loads(dead.last_error or "")["error"]["message"] == FAILURE.message
    other = dead_letter(DURABLE, job, FAILURE._replace(message="reset by 10.0.0.2"), reason).move.dead
    assert other is not None
    assert other.fingerprint == dead.fingerprint


@pytest.mark.rule("D15")
def test_the_reasons_and_the_stages_are_those_of_the_document() -> None:
    assert len(DLQ_REASONS) == 8
    assert sorted(DLQ_STAGES) == ["commit", "exec", "fetch", "input", "output"]
    with pytest.raises(ValueError, match="reason_code 'bad luck' is not one of compensation_failed, "):
        dead_letter(DURABLE, running(DURABLE), FAILURE, "bad luck")
    with pytest.raises(NotAllowedError):
        dead_letter(CRAWL, running(CRAWL), FAILURE, "timeout")


@pytest.mark.rule("D10", "D12")
@pytest.mark.parametrize(
    ("table", "columns", "command", "reason"),
    [
        (DURABLE, {"tries": 1}, "lose", "lease_expired"),
        (DURABLE, {"tries": 3}, "dead_letter", "exhausted_retries"),
        (DURABLE, {"tries": 1, "losses": 1}, "lose", "lease_expired"),
        (DURABLE, {"tries": 1, "losses": 2}, "dead_letter", "infrastructure_failure"),
        (DURABLE, {"tries": 3, "losses": 2}, "dead_letter", "infrastructure_failure"),
        (CRAWL, {"tries": 1}, "lose", "timeout_soft"),
        (CRAWL, {"tries": 3}, "fail", "timeout_soft"),
        (CRAWL, {"tries": 1, "losses": 2}, "fail", "timeout_soft"),
        (WORKFLOW, {"tries": 1}, "lose", "lease_expired"),
        (WORKFLOW, {"tries": 3}, "fail", "timeout_soft"),
        (PIPELINE, {"tries": 1, "losses": 2}, "fail", "timeout_soft"),
        (SANDBOX, {"tries": 1, "losses": 2}, "fail", "timeout_soft"),
    ],
    ids=lambda value: getattr(value, "name", None) or str(value),
)
def test_a_lost_lease(table: Lifecycle, columns: dict[str, int], command: str, reason: str) -> None:
    path, made = lost(table, running(table, **columns))
    assert (path[0].command, made.reason) == (command, reason)
    if command != "lose":
        error = json.loads(made.outcome or "")["error"]
        assert (error["code"], error["context"]["worker_id"]) == ("timeout_soft", "w")


@pytest.mark.rule("P10", "W05")
def test_an_expiry_takes_the_row_of_the_state() -> None:
    job, _ = lived(WORKFLOW)
    path, made = expired(WORKFLOW, job)
    assert (path[0].target, made.reason) == ("expired", "expired")
    path, made = expired(PIPELINE, running(PIPELINE))
    assert (path[0].target, made.reason, STALE) == ("failed", STALE, "Job timed out or was orphaned")
    with pytest.raises(NotAllowedError):
        expired(WORKFLOW, running(WORKFLOW))


def test_an_outcome_that_the_state_does_not_allow_is_refused_with_what_is() -> None:
    job, _ = lived(DURABLE)
    with pytest.raises(NotAllowedError, match="no succeed from queued; from queued it may: claim, cancel"):
        settle(DURABLE, job, Done())
    with pytest.raises(NotAllowedError):
        settle(PIPELINE, lived(PIPELINE)[0], Fail(FAILURE))


def test_what_fails_before_it_ran_is_dead_lettered_where_it_cannot_fail() -> None:
    job, _ = lived(DURABLE, "claim")
    path, made = settle(DURABLE, job, Fail(FAILURE))
    assert (path[0].source, path[0].command) == ("assigned", "dead_letter")
    assert made.dead is not None


def test_one_command_for_many_jobs_is_one_change_per_row() -> None:
    queued, _ = lived(DURABLE)
    assigned, _ = lived(DURABLE, "claim")
    jobs = [queued, assigned, queued._replace(id="b")]
    first, second = move(DURABLE, jobs, "cancel", actor="ann", reason="why", cause="c")
    assert first.path == (DURABLE.row("queued", "cancel"),)
    assert [one.job_id for one in first.moves] == [JOB_ID, "b"]
    assert second.path == (DURABLE.row("assigned", "cancel"),)
    assert {(one.reason, one.cause) for one in first.moves + second.moves} == {("why", "c")}
    assert (first.actor, first.owner) == ("ann", None)
    with pytest.raises(NotAllowedError):
        move(DURABLE, [queued, lived(DURABLE, "cancel")[0]], "cancel", actor="ann")


def test_a_delay_is_told_so_that_a_replay_knows_it() -> None:
    job, events = lived(WORKFLOW, "claim", "cancel")
    [change] = move(WORKFLOW, [job], "resume", actor="ann", delay_ms=750)
    [made] = change.moves
    resumed = lived(WORKFLOW, "claim", "cancel", "resume")[1][-1]._replace(payload=made.payload)
    assert replay(WORKFLOW, [*events, resumed]).due_at_ms == resumed.at_ms + 750
