"""Undoing what a job has done when it fails for good: the steps that it finished, last one first.

A task says how: `compensate={"charge": refund}` gives each step, by its name or by the part of it before a colon, a
function that takes the step's result. They must be idempotent: a worker that dies among them leaves them to nobody, and
a job that is dead-lettered for it is undone by hand.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from holdfast.kernel import outcome as o
from holdfast.kernel.errors import ErrorClass
from holdfast.kernel.job import Failure, Job
from holdfast.kernel.payload.encoding import encode
from holdfast.store.port import Signal, Store

Undo = Callable[[Any], Any]
Undoes = Mapping[str, Undo]
Apart = Callable[[Callable[[], Any]], Awaitable[Any]]
STEP_UNDONE = "job_step_compensated"


def failed_for_good(outcome: o.Outcome, job: Job) -> Failure | None:
    """What a job failed with, if no try is left to mend it."""
    match outcome:
        case o.Fail(failure):
            return failure
        case o.Retry(failure) | o.TimedOut(failure) if job.tries >= job.max_tries:
            return failure
    return None


async def compensate(store: Store, job: Job, owner: str, undoes: Undoes, failure: Failure, apart: Apart) -> o.Outcome:
    """Undo the job's steps, each logged as a signal; the failure as compensated, or as one that needs a person."""
    for name, _ in reversed(await store.kept.steps(job.id)):
        undo = undoes.get(name) or undoes.get(name.partition(":")[0])
        if undo is None:
            continue
        result = json.loads(await store.kept.step(job.id, name) or "null")
        try:
            if inspect.iscoroutinefunction(undo):
                await undo(result)
            else:
                await apart(partial(undo, result))
        except Exception as error:
            message = f"step {name!r} could not be undone: {type(error).__name__}: {error}"
            context = failure.context | {"step": name, "after": f"{failure.code}: {failure.message}"}
            broken = Failure("compensation_failed", ErrorClass.PERMANENT.value, message, context, "commit")
            return o.Fail(broken, "compensation_failed")
        said = encode({"step": name}, what="signal")
        await store.jobs.signal([Signal(job.id, job.attempt, STEP_UNDONE, owner, said)])
    return o.Fail(failure, compensated=True)
