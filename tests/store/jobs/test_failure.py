"""Failures end to end: where a job goes, when it is due again, and what is kept of the error."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holdfast.catalog import BUILT_IN
from holdfast.kernel import retry
from holdfast.kernel.classify import PERMANENT_CODES, Classifier, error_class_of, retryable
from holdfast.kernel.durable import DURABLE
from holdfast.kernel.errors import LeaseConflictError, PermanentError, TransientError, ValidationError
from holdfast.kernel.job import Failure, Job
from holdfast.kernel.lifecycle import Command
from holdfast.kernel.outcome import Cancelled, Done, Fail, Outcome, Partial, Retry, Skip, TimedOut
from holdfast.kernel.policy import Exhausted
from holdfast.store.port import Store
from tests.store.scenes import FAILURE, WORKER, Clock, assert_clean, bring, end, fetch, submit, take

OUTCOMES: dict[str, Outcome] = {
    "done": Done('{"n":1}'),
    "partial": Partial("[1]", "some"),
    "skip": Skip("branch_not_taken"),
    "retry": Retry(FAILURE),
    "fail": Fail(FAILURE),
    "fail-dead": Fail(FAILURE, dead_reason="parse_error"),
    "fail-compensated": Fail(FAILURE, compensated=True),
    "cancelled": Cancelled("asked to"),
    "timed-out": TimedOut(FAILURE),
}
# Where each outcome leads from running, where it is not the same everywhere.
EVERYWHERE = {
    "done": "succeeded",
    "partial": "succeeded",
    "skip": "succeeded",
    "fail": "failed",
    "fail-dead": "failed",
    "fail-compensated": "failed",
    "cancelled": "cancelled",
}
ENDS: dict[str, dict[str, str]] = {
    "crawl": {"retry": "retry_pending", "timed-out": "retry_pending"},
    "durable": {"retry": "queued", "timed-out": "queued", "fail-dead": "dead_lettered"},
    "pipeline": {"retry": "failed", "timed-out": "failed", "partial": "partial"},
    "workflow": {"retry": "retry_pending", "timed-out": "retry_pending", "skip": "skipped"},
    "sandbox": {"retry": "failed", "timed-out": "timed_out"},
}


def judged(failure: Failure) -> Outcome:
    """What a code's class makes of a failure."""
    known = Classifier().classify(failure.code)
    assert known is not None
    return Retry(failure) if retryable(known) else Fail(failure)


@pytest.mark.parametrize("ending", OUTCOMES)
@pytest.mark.parametrize("lifecycle", BUILT_IN)
async def test_every_outcome_in_every_lifecycle(store: Store, clock: Clock, lifecycle: str, ending: str) -> None:
    job = await bring(store, clock, BUILT_IN[lifecycle], "running")
    after = await end(store, job, OUTCOMES[ending])
    assert after.state == (EVERYWHERE | ENDS[lifecycle])[ending]
    await assert_clean(store, job.id)
    assert await store.reads.dead_mismatches() == []


async def tries(store: Store, clock: Clock, job: Job, outcome: Outcome, **how: Any) -> list[int]:
    """Fail a job until it is given up; the delays that it was given, each proven by a claim."""
    delays: list[int] = []
    while True:
        [taken] = await store.jobs.claim(["default"], 1, WORKER)
        assert taken.id == job.id
        after = await end(store, taken, outcome, **how)
        if after.state not in BUILT_IN[job.lifecycle].claimable:
            return delays
        delays.append(after.due_at_ms - clock.now_ms)
        clock.now_ms = after.due_at_ms - 1
        assert await store.jobs.claim(["default"], 1, WORKER) == []
        clock.advance(1)


@pytest.mark.rule("C06")
async def test_a_crawl_waits_from_two_seconds_on_for_seven_tries(store: Store, clock: Clock) -> None:
    job = await submit(store, "crawl", max_tries=BUILT_IN["crawl"].policies.retry.max_tries)
    delays = await tries(store, clock, job, judged(Failure("rate_limited", "transient", "429", {})))
    assert delays == [2_000, 4_000, 8_000, 16_000, 32_000, 64_000]
    over = await fetch(store, job.id)
    assert (over.state, over.tries, over.attempt) == ("failed", 7, 7)
    await assert_clean(store, job.id)


@pytest.mark.rule("C06", "D11")
async def test_chance_shortens_a_delay(store: Store, clock: Clock) -> None:
    for lifecycle, full_ms in (("crawl", 2_000), ("durable", 500)):
        job = await bring(store, clock, BUILT_IN[lifecycle], "running")
        after = await end(store, job, Retry(FAILURE), chance=0.5)
        assert after.due_at_ms == clock.now_ms + full_ms * 3 // 4


@pytest.mark.rule("D11", "D12")
@pytest.mark.parametrize(("policy", "state"), [(None, "failed"), ("fail", "failed"), ("dead_letter", "dead_lettered")])
async def test_a_durable_job_backs_off_and_ends_as_its_type_says(
    store: Store, clock: Clock, policy: str | None, state: str
) -> None:
    job = await submit(store, max_tries=10)
    chosen = Exhausted(policy) if policy else None
    delays = await tries(store, clock, job, Retry(FAILURE), on_exhausted=chosen)
    assert delays == [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]
    assert (await fetch(store, job.id)).state == state
    reasons = [dead.reason_code for dead in await store.reads.dead()]
    assert reasons == (["exhausted_retries"] if state == "dead_lettered" else [])


@pytest.mark.rule("D11")
async def test_a_task_may_bring_its_own_policy_and_a_failure_its_own_delay(store: Store, clock: Clock) -> None:
    job = await submit(store, max_tries=4)
    own = retry.RetryPolicy(max_tries=4, base_ms=10, factor=3, cap_ms=50)
    assert await tries(store, clock, job, Retry(FAILURE), retry=own) == [10, 30, 50]
    job = await submit(store, max_tries=3)
    assert await tries(store, clock, job, Retry(FAILURE, delay_ms=77)) == [77, 77]


@pytest.mark.rule("W10")
@pytest.mark.parametrize(("backoff", "delays"), [(True, [5, 10, 20]), (False, [5, 5, 5])])
async def test_a_workflow_retries_three_times_and_fails(
    store: Store, clock: Clock, backoff: bool, delays: list[int]
) -> None:
    policy = retry.workflow(retry_limit=3, retry_delay_ms=5_000, backoff=backoff)
    job = await submit(store, "workflow", max_tries=policy.max_tries)
    found = await tries(store, clock, job, Retry(FAILURE), retry=policy)
    assert found == [seconds * 1_000 for seconds in delays]
    assert BUILT_IN["workflow"].state((await fetch(store, job.id)).state) == "FAILED"


@pytest.mark.rule("C07")
@pytest.mark.parametrize("code", sorted(PERMANENT_CODES))
async def test_a_permanent_code_fails_at_once(store: Store, clock: Clock, code: str) -> None:
    job = await bring(store, clock, BUILT_IN["crawl"], "running")
    after = await end(store, job, judged(Failure(code, "permanent", "no use", {})))
    assert (after.state, after.tries, after.attempt) == ("failed", 1, 1)
    assert (await store.reads.events(job.id))[-1].reason == code


@pytest.mark.rule("C11")
@pytest.mark.parametrize("kind", [Retry, Fail])
async def test_code_message_and_context_are_kept(store: Store, clock: Clock, kind: Any) -> None:
    context: dict[str, object] = {
        "domain": "x.org",
        "url": "http://x.org/ü",
        "attempt": 1,
        "worker_id": WORKER,
    }
    failure = Failure("E_5XX_ORIGIN", "transient", "502 “Bad Gateway”\x00", context, "fetch")
    job = await bring(store, clock, BUILT_IN["crawl"], "running")
    after = await end(store, job, kind(failure))
    event = (await store.reads.events(job.id))[-1]
    assert after.outcome is not None
    assert event.payload is not None
    for kept in (json.loads(after.outcome)["error"], json.loads(event.payload)["error"]):
        assert kept == failure.to_dict()
        assert (kept["code"], kept["message"], kept["context"]) == (failure.code, failure.message, context)
    assert event.reason == "E_5XX_ORIGIN"
    await assert_clean(store, job.id)


@pytest.mark.rule("D26")
@pytest.mark.parametrize(
    ("error", "state"),
    [
        (ValidationError("bad"), "failed"),
        (TransientError("later"), "queued"),
        (PermanentError("never"), "failed"),
        (RuntimeError("who knows"), "queued"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value,
)
async def test_the_class_of_an_error_decides(store: Store, clock: Clock, error: Exception, state: str) -> None:
    job = await bring(store, clock, DURABLE, "running")
    error_class = error_class_of(error, Classifier())
    failure = Failure("code", error_class, str(error), {})
    after = await end(store, job, Retry(failure) if retryable(error_class) else Fail(failure))
    assert after.state == state
    assert json.loads(after.outcome or "")["error"]["class"] == error_class


@pytest.mark.rule("D26")
def test_a_lease_conflict_is_no_reason_to_try_again() -> None:
    assert not retryable(error_class_of(LeaseConflictError(), Classifier()))


async def test_the_last_outcome_is_the_jobs_outcome(store: Store, clock: Clock) -> None:
    job = await bring(store, clock, DURABLE, "running")
    job = await end(store, job, Retry(FAILURE))
    assert "error" in json.loads(job.outcome or "")
    clock.advance(500)
    [job] = await store.jobs.claim(["default"], 1, WORKER)
    job = await end(store, job, Done())
    assert (job.state, job.outcome) == ("succeeded", None)
    await assert_clean(store, job.id)


async def test_a_hand_back_and_a_resume_cost_no_try(store: Store, clock: Clock) -> None:
    table = BUILT_IN["workflow"]
    job = await bring(store, clock, table, "running", max_tries=1)
    job = await take(store, clock, job, table.row("running", Command.HAND_BACK))
    assert (job.tries, job.attempt) == (0, 2)
    [job] = await store.jobs.claim(["default"], 1, WORKER)
    job = await take(store, clock, job, table.row("running", Command.CANCEL))
    job = await take(store, clock, job, table.row("cancelled", Command.RESUME))
    assert (job.tries, job.attempt, job.finished_at_ms) == (0, 3, None)
    [job] = await store.jobs.claim(["default"], 1, WORKER)
    assert (job.tries, job.attempt) == (1, 3)
    await assert_clean(store, job.id)
