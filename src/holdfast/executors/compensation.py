"""Undoing what a job has done when it fails for good: the steps that it finished, last one first.

A task says how: `compensate={"charge": refund}` gives each step, by its name or by the part of it before a colon, a
function that takes the step's result. They must be idempotent: a worker that dies among them leaves them to nobody, and
a job that is dead-lettered for it is undone by hand.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from holdfast.executors.port import JobLink
from holdfast.executors.threads import Threads
from holdfast.kernel import outcome as o
from holdfast.kernel.errors import ErrorClass
from holdfast.kernel.job import Failure, Job

Undo = Callable[[Any], Any]
Undoes = Mapping[str, Undo]


def failed_for_good(outcome: o.Outcome, job: Job) -> Failure | None:
    """What a job failed with, if no try is left to mend it."""
    match outcome:
        case o.Fail(failure):
            return failure
        case o.Retry(failure) | o.TimedOut(failure) if job.tries >= job.max_tries:
            return failure
    return None


async def compensate(link: JobLink, undoes: Undoes, failure: Failure) -> o.Outcome:
    """Undo the job's steps, each put on record; the failure as compensated, or as one that needs a person."""
    for name in reversed(await link.steps()):
        undo = undoes.get(name) or undoes.get(name.partition(":")[0])
        if undo is None:
            continue
        result = json.loads(await link.load_step(name) or "null")
        try:
            if inspect.iscoroutinefunction(undo):
                await undo(result)
            else:
                await _in_thread(partial(undo, result))
        except Exception as error:
            message = f"step {name!r} could not be undone: {type(error).__name__}: {error}"
            context = failure.context | {"step": name, "after": f"{failure.code}: {failure.message}"}
            broken = Failure("compensation_failed", ErrorClass.PERMANENT.value, message, context, "commit")
            return o.Fail(broken, "compensation_failed")
        await link.step_undone(name)
    return o.Fail(failure, compensated=True)


async def _in_thread(undo: Callable[[], Any]) -> None:
    threads = Threads(1)
    try:
        await threads.run(undo)
    finally:
        threads.close()
