"""POST /jobs/cancel: many jobs at once, by id or by filter. A dry run unless told otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from holdfast.api.access.keys import Scope
from holdfast.api.access.scopes import needs
from holdfast.api.jobs.idempotency import OnceDep, Reply, reply
from holdfast.api.problems.kinds import Problem
from holdfast.api.shapes.bodies import CancelMany
from holdfast.api.shapes.change import Bulk
from holdfast.commands import cancel as cancelling
from holdfast.kernel.job import Job
from holdfast.kernel.state import OVER, RANK
from holdfast.store.port import Store
from holdfast.views.living import living_jobs

router = APIRouter(tags=["jobs"])
FILTERS = ("state", "task", "queue", "lifecycle")
MOST = 10_000
"""As many jobs as this are changed by one request; `more` says whether there are others."""


def bulk_reply(dry_run: bool, items: Sequence[Any], left: Mapping[str, str], *, more: bool = False) -> Reply:
    """One shape for all bulk changes: what was done or would be, and what was left as it is, with the reason."""
    return reply(200, {"dry_run": dry_run, "count": len(items), "items": list(items), "left": dict(left), "more": more})


@router.post("/jobs/cancel", responses={200: {"model": Bulk}})
@needs(Scope.ADMIN)
async def cancel_many(body: CancelMany, once: OnceDep) -> Response:
    """Cancel jobs by their ids, or those that a filter chooses. It only shows which until `dry_run` is false."""
    chosen = {name: value for name in FILTERS if (value := getattr(body, name)) is not None}
    if body.ids is None and not chosen:
        raise Problem("invalid_field", "choose jobs by ids, or by a filter", field="ids", allowed=["ids", *FILTERS])
    if body.ids is not None and chosen:
        raise Problem("invalid_field", "ids and a filter contradict each other", field=min(chosen))

    async def cancel() -> Reply:
        jobs, left, more = await _chosen(once.store, body)
        done = [job.id for job in jobs]
        if not body.dry_run:
            reason = body.reason or "cancelled"
            result = await cancelling.cancel_many(once.store, jobs, reason, body.mode, once.actor)
            done, left = result.done, left | result.left
        tasks = {job.id: job for job in jobs}
        items = [{"id": each, "task": tasks[each].task, "queue": tasks[each].queue} for each in done]
        return bulk_reply(body.dry_run, items, left, more=more)

    return await once.several(cancel)


async def _chosen(store: Store, body: CancelMany) -> tuple[list[Job], dict[str, str], bool]:
    """Living jobs, and why others that were named are left; whether there are more than fit."""
    if body.ids is not None:
        wanted = list(dict.fromkeys(job_id.lower() for job_id in body.ids))
        found = {job.id: job for job in await store.reads.get_many(wanted)}
        left = {job_id: "no such job" for job_id in wanted if job_id not in found}
        left |= {job.id: f"it is {job.state}" for job in found.values() if RANK[job.state] >= OVER}
        return [found[job_id] for job_id in wanted if job_id in found and job_id not in left], left, False
    where = {"task": body.task, "queue": body.queue, "lifecycle": body.lifecycle}
    states = () if body.state is None else (body.state,)
    jobs, more = await living_jobs(store.reads, await store.reads.lifecycles(), states=states, **where, most=MOST)
    return jobs, {}, more
