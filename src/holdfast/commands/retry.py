"""Retry: a job that waits for its time becomes due, one that ended badly is submitted once more under its parent."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.commands.anew import Check, again
from holdfast.commands.replay import replaying
from holdfast.kernel.decisions import Anew, Decide, Decision, NotNowError, Stands, hasten
from holdfast.kernel.graph.flow_lifecycle import FLOW
from holdfast.kernel.state import OVER, RANK, SUCCESSFUL, Canonical
from holdfast.store.port import Ask, Facts, Store

FLOW_RETRY = "holdfast flow retry"


class Retried(NamedTuple):
    """The job that runs now: the one that was asked for, or, with `is_new`, the one that stands in for it."""

    job_id: str
    is_new: bool


async def retry(store: Store, job_id: str, reason: str, actor: str = "client", check: Check | None = None) -> Retried:
    """NotAllowedError for a job that runs, or that ended well."""
    return retried(await store.jobs.change([job_id], retrying(reason, actor, check), Ask(actor)))


def retried(done: Facts) -> Retried:
    for answer in done.became.values():
        return Retried(answer.job_id, True)
    [job_id] = done.jobs
    return Retried(job_id, False)


def retrying(reason: str, actor: str, check: Check | None) -> Decide:
    def decide(stands: Stands) -> Decision:
        job, table = stands.job, stands.table
        if job.state in table.claimable:
            return hasten(stands, reason)
        if RANK[job.state] < OVER:
            raise NotNowError(job, table, "retry", f"see holdfast job explain {job.id}")
        if job.state in SUCCESSFUL:
            raise NotNowError(job, table, "retry", "it needs no retry: submit the task anew to run it again")
        flow_id = job.id if job.lifecycle == FLOW.name else stands.flow_id
        if flow_id is not None:
            raise NotNowError(
                job, table, "retry", f"what failed of a flow goes on in a new one: {FLOW_RETRY} {flow_id}"
            )
        if job.state == Canonical.DEAD_LETTERED:
            return replaying(None, check, actor, reason)(stands)
        key = f"retry:{job.id}"
        return Anew(again(job, table, stands.now_ms, key=key, actor=actor, reason=reason, check=check))

    return decide
