"""Where a job goes next: an outcome, a lost lease or a passed deadline becomes a path and a move."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, assert_never

from holdfast.kernel.classify import fingerprint
from holdfast.kernel.job import DLQ_REASONS, DeadLetter, Failure, Job
from holdfast.kernel.lifecycle import Command, Lifecycle, Transition
from holdfast.kernel.move import Move
from holdfast.kernel.outcome import Cancelled, Done, Fail, Outcome, Partial, Retry, Skip, TimedOut
from holdfast.kernel.policy import Exhausted
from holdfast.kernel.retry import RetryPolicy, delay_ms

STALE = "Job timed out or was orphaned"


class Settled(NamedTuple):
    """The rows to take, and the job's move along them."""

    path: tuple[Transition, ...]
    move: Move


def settle(
    lifecycle: Lifecycle,
    job: Job,
    outcome: Outcome,
    *,
    chance: float = 0.0,
    retry: RetryPolicy | None = None,
    on_exhausted: Exhausted | None = None,
) -> Settled:
    """What a handler's outcome does to its job. `chance` in [0, 1) spreads the back-off."""
    match outcome:
        case Done(result):
            return _end(lifecycle, job, (Command.SUCCEED,), result=result)
        case Partial(result, reason):
            return _end(lifecycle, job, (Command.PARTIAL, Command.SUCCEED), reason=reason or "partial", result=result)
        case Skip(reason):
            return _end(lifecycle, job, (Command.SKIP, Command.SUCCEED), reason=reason)
        case Cancelled(reason, result):
            return _end(lifecycle, job, (Command.CANCEL,), reason=reason, result=result)
        case Retry(failure, delay):
            policy = retry or lifecycle.policies.retry
            row = lifecycle.find(job.state, Command.RETRY)
            if row is None or job.tries >= job.max_tries:
                return _exhausted(lifecycle, job, failure, on_exhausted or lifecycle.policies.on_exhausted)
            wait = delay_ms(policy, max(job.tries, 1), chance) if delay is None else delay
            return Settled((row,), _failed(job, failure, delay=wait))
        case Fail(failure, dead_reason, compensated):
            if compensated and (row := lifecycle.find(job.state, Command.COMPENSATE)):
                return Settled((row,), _failed(job, failure))
            if dead_reason and lifecycle.find(job.state, Command.DEAD_LETTER):
                return dead_letter(lifecycle, job, failure, dead_reason)
            return _give_up(lifecycle, job, failure, (Command.FAIL, Command.DEAD_LETTER), "policy_violation")
        case TimedOut(failure):
            if row := lifecycle.find(job.state, Command.TIME_OUT):
                return Settled((row,), _failed(job, failure))
            return settle(lifecycle, job, Retry(failure), chance=chance, retry=retry, on_exhausted=on_exhausted)
        case _:
            assert_never(outcome)


def lost(lifecycle: Lifecycle, job: Job, failure: Failure | None = None) -> Settled:
    """The lease ran out: on to the next attempt, or the end when tries or crashes are used up.

    With a `failure` the run is lost although its lease is not: the process that ran the handler has died.
    """
    policies = lifecycle.policies
    crashed = job.losses + 1 >= policies.crash_budget
    row = lifecycle.find(job.state, Command.LOSE)
    if row is not None and not crashed and job.tries < job.max_tries:
        return Settled((row,), _failed(job, failure) if failure else Move(job.id, job.attempt, reason="lease_expired"))
    failure = failure or Failure(
        "timeout_soft",
        "transient",
        "the worker stopped renewing its lease",
        {"attempt": job.attempt, "worker_id": job.lease_owner},
    )
    reason = "infrastructure_failure" if crashed else "exhausted_retries"
    if policies.on_lost_exhausted is Exhausted.DEAD_LETTER:
        return dead_letter(lifecycle, job, failure, reason)
    return _give_up(lifecycle, job, failure, (Command.FAIL, Command.DEAD_LETTER), reason)


def expired(lifecycle: Lifecycle, job: Job) -> Settled:
    """The job's time is over before it ended."""
    stale = lifecycle.policies.stale_after_ms is not None
    message = STALE if stale else "the job did not end before its expiry"
    failure = Failure("E_TIMEOUT" if stale else "expired", "permanent", message, {"attempt": job.attempt})
    row = lifecycle.row(job.state, Command.EXPIRE)
    return Settled((row,), _failed(job, failure, reason=STALE if stale else "expired"))


def dead_letter(lifecycle: Lifecycle, job: Job, failure: Failure, reason_code: str) -> Settled:
    """Out of the way of the queue, with everything that a person needs to help."""
    if reason_code not in DLQ_REASONS:
        raise ValueError(f"reason_code {reason_code!r} is not one of {', '.join(sorted(DLQ_REASONS))}")
    row = lifecycle.row(job.state, Command.DEAD_LETTER)
    move = _failed(job, failure, reason=reason_code)
    dead = DeadLetter(
        reason_code=reason_code,
        stage=failure.stage,
        last_error=move.outcome,
        attempts=max(job.tries, job.attempt),
        last_owner=job.lease_owner,
        last_lease_expires_at_ms=job.lease_until_ms,
        fingerprint=fingerprint(failure.code, failure.message),
    )
    return Settled((row,), move._replace(dead=dead))


def _exhausted(lifecycle: Lifecycle, job: Job, failure: Failure, policy: Exhausted) -> Settled:
    order = (Command.FAIL, Command.DEAD_LETTER)
    if policy is Exhausted.DEAD_LETTER:
        order = (Command.DEAD_LETTER, Command.FAIL)
    return _give_up(lifecycle, job, failure, order, "exhausted_retries")


def _give_up(lifecycle: Lifecycle, job: Job, failure: Failure, order: tuple[str, ...], dead_reason: str) -> Settled:
    for command in order:
        if (row := lifecycle.find(job.state, command)) is None:
            continue
        if command == Command.DEAD_LETTER:
            return dead_letter(lifecycle, job, failure, dead_reason)
        return Settled((row,), _failed(job, failure))
    row = lifecycle.row(job.state, order[0])  # raises, with what would be allowed
    return Settled((row,), _failed(job, failure))


def _end(
    lifecycle: Lifecycle,
    job: Job,
    order: tuple[str, ...],
    *,
    reason: str | None = None,
    result: str | None = None,
) -> Settled:
    row = next((r for c in order if (r := lifecycle.find(job.state, c))), None)
    row = row or lifecycle.row(job.state, order[0])
    outcome = None if result is None else f'{{"result":{result}}}'
    return Settled((row,), Move(job.id, job.attempt, reason=reason, outcome=outcome))


def _failed(job: Job, failure: Failure, *, reason: str | None = None, delay: int = 0) -> Move:
    error: Mapping[str, Any] = failure.to_dict()
    payload: dict[str, Any] = {"error": error}
    if delay:
        payload["delay_ms"] = delay
    return Move(
        job.id,
        job.attempt,
        delay_ms=delay,
        reason=reason or failure.code,
        payload=json.dumps(payload, separators=(",", ":")),
        outcome=json.dumps({"error": error}, separators=(",", ":")),
    )
