"""Where a job goes next: an outcome, a lost lease or a passed deadline becomes a path and a move."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, assert_never

from holdfast.kernel.classify import fingerprint
from holdfast.kernel.job import DLQ_REASONS, Failure, Job, NewDeadLetter
from holdfast.kernel.lifecycle import Command, Lifecycle, Transition
from holdfast.kernel.move import Change, Move
from holdfast.kernel.outcome import SILENT, Cancelled, Done, Fail, Notes, Outcome, Partial, Retry, Skip, TimedOut
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
    notes: Notes = SILENT,
) -> Settled:
    """What a handler's outcome does to its job. `chance` in [0, 1) spreads the back-off."""
    settled = _settle(lifecycle, job, outcome, chance, retry, on_exhausted)
    if notes is SILENT and not lifecycle.policies.says_why:
        return settled
    return _with_outcome(lifecycle, settled, _why(job, outcome), notes)


def _settle(
    lifecycle: Lifecycle,
    job: Job,
    outcome: Outcome,
    chance: float,
    retry: RetryPolicy | None,
    on_exhausted: Exhausted | None,
) -> Settled:
    match outcome:
        case Done(result):
            return _end(lifecycle, job, (Command.SUCCEED,), result=result)
        case Partial(result, reason):
            order = (Command.PARTIAL, Command.SUCCEED)
            return _end(lifecycle, job, order, reason=reason or "partial", result=result, partial=True)
        case Skip(reason):
            return _end(lifecycle, job, (Command.SKIP, Command.SUCCEED), reason=reason)
        case Cancelled(reason, result):
            return _end(lifecycle, job, (Command.CANCEL,), reason=reason, result=result, partial=True)
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
            return _settle(lifecycle, job, Retry(failure), chance, retry, on_exhausted)
        case _:
            assert_never(outcome)


def _why(job: Job, outcome: Outcome) -> dict[str, Any]:
    """What an end without a result says of itself."""
    match outcome:
        case Skip(reason) | Cancelled(reason):
            return {"reason": reason}
        case Retry(failure) | Fail(failure) | TimedOut(failure):
            return {"error": failure.message, "attempts": job.tries}
    return {}


def _with_outcome(lifecycle: Lifecycle, settled: Settled, why: Mapping[str, Any], notes: Notes) -> Settled:
    """The same, with what was said beside the outcome, each part under its own name."""
    output = {**why, **notes.output} if lifecycle.policies.says_why else notes.output
    outcome = settled.move.outcome
    parts = [outcome[1:-1]] if outcome else []
    if output:
        parts.append(f'"output_metadata":{json.dumps(output, separators=(",", ":"))}')
    if notes.progress:
        parts.append(f'"progress":{notes.progress}')
    recorded = f"{{{','.join(parts)}}}" if parts else None
    return Settled(settled.path, settled.move._replace(outcome=recorded))


def stop_reason(request: str | None) -> str:
    """Why somebody asked for a stop. The request reads "soft: why"."""
    return (request or "").partition(": ")[2] or "stopped as asked"


def because(change: Change, reason: str) -> Change:
    """A change that ends jobs without a run, with its reason in their outcomes where their lifecycle says why."""
    if not change.lifecycle.policies.says_why:
        return change
    outcome = json.dumps({"output_metadata": {"reason": reason}}, separators=(",", ":"))
    return change._replace(moves=[move._replace(outcome=outcome) for move in change.moves])


def lost(lifecycle: Lifecycle, job: Job, failure: Failure | None = None) -> Settled:
    """The lease ran out: on to the next attempt, or the end when tries or crashes are used up.

    With a `failure` the run is lost although its lease is not: the process that ran the handler has died.
    """
    if job.cancel_requested is not None and lifecycle.find(job.state, Command.CANCEL):
        return settle(lifecycle, job, Cancelled(stop_reason(job.cancel_requested)))  # nobody is left who could heed it
    policies = lifecycle.policies
    crashed = job.losses + 1 >= policies.crash_budget
    row = lifecycle.find(job.state, Command.LOSE)
    if row is not None and not crashed and job.tries < job.max_tries:
        return Settled(
            (row,), _failed(job, failure) if failure else Move(job.id, job.attempt, reason=policies.lost_code)
        )
    failure = failure or Failure(
        "timeout_soft",
        "transient",
        "the worker stopped renewing its lease",
        {"attempt": job.attempt, "worker_id": job.lease_owner},
    )
    reason = "infrastructure_failure" if crashed else "exhausted_retries"
    if policies.on_lost_exhausted is Exhausted.DEAD_LETTER:
        return dead_letter(lifecycle, job, failure, reason)
    settled = _give_up(lifecycle, job, failure, (Command.FAIL, Command.DEAD_LETTER), reason)
    return _with_outcome(lifecycle, settled, _why(job, Fail(failure)), SILENT)


def expired(lifecycle: Lifecycle, job: Job) -> Settled:
    """The job's time is over before it ended."""
    stale = lifecycle.policies.stale_after_ms is not None
    message = STALE if stale else "the job did not end before its expiry"
    failure = Failure("E_TIMEOUT" if stale else "expired", "permanent", message, {"attempt": job.attempt})
    row = lifecycle.row(job.state, Command.EXPIRE)
    settled = Settled((row,), _failed(job, failure, reason=STALE if stale else "expired"))
    return _with_outcome(lifecycle, settled, _why(job, Fail(failure)), SILENT)


def dead_letter(lifecycle: Lifecycle, job: Job, failure: Failure, reason_code: str) -> Settled:
    """Out of the way of the queue, with everything that a person needs to help."""
    if reason_code not in DLQ_REASONS:
        raise ValueError(f"reason_code {reason_code!r} is not one of {', '.join(sorted(DLQ_REASONS))}")
    row = lifecycle.row(job.state, Command.DEAD_LETTER)
    move = _failed(job, failure, reason=reason_code)
    dead = NewDeadLetter(
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
    partial: bool = False,
) -> Settled:
    row = next((r for c in order if (r := lifecycle.find(job.state, c))), None)
    row = row or lifecycle.row(job.state, order[0])
    mark = ',"partial":true' if partial else ""
    outcome = None if result is None else f'{{"result":{result}{mark}}}'
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
