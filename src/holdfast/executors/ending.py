"""How a handler's end becomes an outcome: what it returned, or what it raised."""

from __future__ import annotations

import json
import traceback
from contextlib import suppress
from typing import Any

import msgspec

from holdfast.kernel import outcome as o
from holdfast.kernel.classify import Classifier, error_class_of, retryable
from holdfast.kernel.errors import ErrorClass
from holdfast.kernel.job import Failure, Job
from holdfast.kernel.payload.encoding import sanitise
from holdfast.kernel.policy import Exhausted
from holdfast.kernel.settle import stop_reason
from holdfast.observe import redact
from holdfast.tasks.answers import Partial, Skip
from holdfast.tasks.context import Context, JobStopped

MESSAGE_CHARS = 2_000
TRACE_LINES = 12
OUR_ROOMS = tuple(f"/holdfast/{room}/" for room in ("executors", "tasks", "worker", "systems", "runtime"))
"""Frames from here say nothing of a handler."""
PLAIN = 1 << 53


def returned(value: Any, ctx: Context | None) -> o.Outcome:
    """The outcome of a handler that came back."""
    if ctx is not None and ctx.saw_stop:
        result = value.result if isinstance(value, Partial) else value
        return o.Cancelled(stop_reason(ctx.stop_mode), _json(result))
    if isinstance(value, Partial):
        return o.Partial(_json(value.result), value.reason)
    return o.Done(_json(value))


def raised(error: BaseException, policy: Exhausted, job: Job, classifier: Classifier, worker: str) -> o.Outcome:
    """The outcome of a handler that raised."""
    if isinstance(error, JobStopped):
        return o.Cancelled(stop_reason(error.args[0] if error.args else None))
    if isinstance(error, Skip):
        return o.Skip(redact.text(str(error)) or "nothing to do")
    kind = error_class_of(error, classifier)
    failure = failure_of(error, kind, job, worker)
    if retryable(kind):
        return o.Retry(failure)
    reason = "validation_failed" if kind is ErrorClass.VALIDATION else "policy_violation"
    return o.Fail(failure, reason if policy is Exhausted.DEAD_LETTER else None)


def bad_input(error: BaseException, job: Job, worker: str) -> o.Outcome:
    """The outcome of a job whose stored arguments the task cannot take: another try would not help."""
    code = "parse_error" if isinstance(error, ValueError) else "validation_failed"
    failure = failure_of(error, ErrorClass.VALIDATION, job, worker, code=code, stage="input")
    return o.Fail(failure, code)


def timed_out(timeout_ms: int | None, job: Job, worker: str) -> o.Outcome:
    message = f"ran longer than its {(timeout_ms or 0) / 1_000:g} s"
    context = {"attempt": job.attempt, "worker_id": worker}
    return o.TimedOut(Failure("timeout", ErrorClass.TRANSIENT.value, message, context))


def failure_of(
    error: BaseException, kind: ErrorClass, job: Job, worker: str, *, code: str | None = None, stage: str = "exec"
) -> Failure:
    given = getattr(error, "context", None)
    context: dict[str, object] = {"attempt": job.attempt, "worker_id": worker}
    if isinstance(given, dict):
        context |= given
    if kind is not ErrorClass.VALIDATION and error.__traceback__ is not None:
        context["trace"] = _trace(error)
    own = getattr(error, "code", None)
    name = code or (own if isinstance(own, str) else None) or type(error).__name__
    # Cut when it is clean: half a secret is not known as one.
    message = redact.text(str(error))[:MESSAGE_CHARS] or type(error).__name__
    clean = redact.value(json.loads(sanitise(context)))
    kept: dict[str, Any] = json.loads(sanitise({"m": message, "c": clean}, max_bytes=16_384))
    return Failure(str(name), kind.value, str(kept["m"]), kept["c"] if isinstance(kept["c"], dict) else {}, stage)


def _trace(error: BaseException) -> str:
    """Where it came from: the handler's own frames, the last ones first in importance."""
    lines = traceback.format_tb(error.__traceback__)
    own = [line for line in lines if not any(room in line for room in OUR_ROOMS)]
    return "".join(own[-TRACE_LINES:])


def _json(value: Any) -> str | None:
    if value is None:
        return None
    if type(value) is int and -PLAIN < value < PLAIN:  # a common result that needs no look
        return str(value)
    with suppress(TypeError, RecursionError):  # what it cannot make plain, sanitise shows as text
        value = msgspec.to_builtins(value, str_keys=True)
    return sanitise(value)
