"""What is done to one job: cancel, stop, resume, retry, replay, delete. A repeat under its key has no second effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from holdfast.api.access.keys import Scope
from holdfast.api.access.scopes import needs
from holdfast.api.deps import EngineDep
from holdfast.api.jobs.idempotency import Once, OnceDep, Reply, reply
from holdfast.api.jobs.read import job_of
from holdfast.api.jobs.replies import IfMatch, job_answer, no_job, versions_of
from holdfast.api.shapes import jobs as schemas
from holdfast.api.shapes.bodies import Cancel, Reason, Replay, Why
from holdfast.api.shapes.change import Deleted, ReplayedJob, RetriedJob
from holdfast.commands import delete as deleting
from holdfast.commands.anew import checker
from holdfast.commands.replay import replaying
from holdfast.commands.retry import retrying
from holdfast.kernel import decisions
from holdfast.kernel.decisions import Decide
from holdfast.kernel.errors import NotFoundError
from holdfast.store.port import Ask, Facts

router = APIRouter(tags=["jobs"])
Answers = dict[int | str, dict[str, Any]]
AS_A_JOB: Answers = {200: {"model": schemas.Job}}
AS_REPLAYED: Answers = {
    200: {"model": ReplayedJob, "description": "It was replayed before."},
    201: {"model": ReplayedJob},
}


async def _change(
    once: Once, job_id: str, decide: Decide, if_match: str | None, tell: Callable[[Facts, str], Reply] | None = None
) -> Response:
    """Change the job with this id, however that is spelled. The answer is the job, or what `tell` makes of it."""
    named = job_id.lower()

    async def change(ask: Ask) -> Facts:
        try:
            return await once.store.jobs.change([named], decide, ask)
        except NotFoundError as error:
            raise no_job(error, job_id) from None

    def as_job(done: Facts) -> Reply:
        return job_answer(done, named, once.store.tables) if tell is None else tell(done, named)

    return await once.run(change, as_job, versions_of(if_match))


@router.post("/jobs/{id}/cancel", responses=AS_A_JOB)
@needs(Scope.WRITE)
async def cancel(id: str, once: OnceDep, body: Cancel | None = None, if_match: IfMatch = None) -> Response:
    """Cancel a job: at once when no worker has it; else the worker is asked (soft), or loses it (hard)."""
    asked = body or Cancel()
    return await _change(once, id, decisions.cancel(asked.reason or "cancelled", asked.mode), if_match)


@router.post("/jobs/{id}/stop", responses=AS_A_JOB)
@needs(Scope.WRITE)
async def stop(id: str, once: OnceDep, body: Cancel | None = None, if_match: IfMatch = None) -> Response:
    """Cancel, by its other name."""
    asked = body or Cancel()
    return await _change(once, id, decisions.cancel(asked.reason or "stopped", asked.mode), if_match)


@router.get("/jobs/{id}/stop", responses=AS_A_JOB)
@needs(Scope.WRITE, is_unsafe_get=True)
async def stop_by_get(
    id: str,
    once: OnceDep,
    mode: Literal["soft", "hard"] = "soft",
    reason: Annotated[Reason, Query()] = "stopped",
    if_match: IfMatch = None,
) -> Response:
    """The same for clients that only GET. Browsers are refused: a link must not stop anything."""
    return await _change(once, id, decisions.cancel(reason, mode), if_match)


@router.post("/jobs/{id}/resume", responses=AS_A_JOB)
@needs(Scope.WRITE, "duplicate_key")
async def resume(id: str, once: OnceDep, body: Why | None = None, if_match: IfMatch = None) -> Response:
    """Let a job go on that was cancelled or has failed, where its lifecycle has that."""
    return await _change(once, id, decisions.resume((body and body.reason) or "resumed"), if_match)


@router.post("/jobs/{id}/retry", responses={200: {"model": RetriedJob}})
@needs(Scope.WRITE)
async def retry(
    id: str, engine: EngineDep, once: OnceDep, body: Why | None = None, if_match: IfMatch = None
) -> Response:
    """Run a job now: one that waits for its time becomes due, one that ended badly is submitted anew (`is_new`)."""
    reason = (body and body.reason) or "retried"

    def tell(done: Facts, job_id: str) -> Reply:
        if (made := done.became.get(job_id)) is None:
            return job_answer(done, job_id, once.store.tables, is_new=False)
        return job_answer(done, made.job_id, once.store.tables, is_new=True, retry_of=job_id)

    return await _change(once, id, retrying(reason, once.actor, checker(engine.registry)), if_match, tell)


@router.post("/jobs/{id}/replay", status_code=201, responses=AS_REPLAYED)
@needs(Scope.WRITE)
async def replay(
    id: str, engine: EngineDep, once: OnceDep, body: Replay | None = None, if_match: IfMatch = None
) -> Response:
    """Submit a dead-lettered job once more, its arguments edited or not. Twice gives the same job."""
    asked = body or Replay()

    def tell(done: Facts, job_id: str) -> Reply:
        made = done.became[job_id]
        status = 201 if made.created else 200
        return job_answer(done, made.job_id, once.store.tables, status, created=made.created, replay_of=job_id)

    decide = replaying(asked.edits, checker(engine.registry), once.actor, asked.reason)
    return await _change(once, id, decide, if_match, tell)


@router.delete("/jobs/{id}", responses={200: {"model": Deleted}})
@needs(Scope.ADMIN)
async def delete(id: str, once: OnceDep, if_match: IfMatch = None) -> Response:
    """Remove a finished job with everything that belongs to it; the removal itself is on record."""

    async def remove(ask: Ask) -> Facts:
        job = await job_of(once.store, id)
        return await deleting.delete(once.store, [job.id], ask)

    def tell(done: Facts) -> Reply:
        assert done.purged is not None  # noqa: S101 - it was removed, or that was refused
        purge = done.purged
        return reply(200, {"id": id.lower(), "deleted": True, "purge": purge.number, "events": purge.events})

    # It looks first: of a repeat the job is gone, and that is what the answer is about.
    return await once.run(remove, tell, versions_of(if_match), looks=True)
