"""What is done to one job: cancel, stop, resume, retry, replay, delete. A repeat under its key has no second effect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from holdfast.api.access.keys import Scope
from holdfast.api.access.scopes import needs
from holdfast.api.deps import EngineDep
from holdfast.api.jobs.idempotency import Once, OnceDep, reply, response
from holdfast.api.jobs.read import job_of
from holdfast.api.jobs.replies import IfMatch, Tables, expected, job_as_it_is, tell_job, tell_moved
from holdfast.api.shapes import jobs as schemas
from holdfast.api.shapes.bodies import Cancel, Reason, Replay, Why
from holdfast.api.shapes.change import Deleted, ReplayedJob, RetriedJob
from holdfast.api.shapes.pages import known_only
from holdfast.commands import dead
from holdfast.commands import jobs as commands
from holdfast.kernel.errors import NotFoundError
from holdfast.kernel.job import Job
from holdfast.store.jobs.requests import Reply
from holdfast.store.port import Applied, PurgeRow, Store, Submitted
from holdfast.store.script import Script

router = APIRouter(tags=["jobs"])
Answers = dict[int | str, dict[str, Any]]
AS_A_JOB: Answers = {200: {"model": schemas.Job}}
AS_REPLAYED: Answers = {
    200: {"model": ReplayedJob, "description": "It was replayed before."},
    201: {"model": ReplayedJob},
}


async def _found(store: Store, job_id: str) -> tuple[Job, Tables]:
    """A job by its id, however that is spelled, and every lifecycle that it may follow."""
    return await job_of(store, job_id), await store.reads.lifecycles()


async def _cancel(once: Once, job_id: str, mode: str, reason: str, if_match: str | None) -> Response:
    job, tables = await _found(once.store, job_id)

    async def cancel(store: Store) -> Job:
        return await commands.cancel(store, job.id, reason, mode, once.actor)

    return response(await once.run(cancel, tell_moved(job.id, tables), expects=expected(job, if_match)))


@router.post("/jobs/{id}/cancel", responses=AS_A_JOB)
@needs(Scope.WRITE)
async def cancel(
    request: Request, id: str, once: OnceDep, body: Cancel | None = None, if_match: IfMatch = None
) -> Response:
    """Cancel a job: at once when no worker has it; else the worker is asked (soft), or loses it (hard)."""
    known_only(request, set())
    asked = body or Cancel()
    return await _cancel(once, id, asked.mode, asked.reason or "cancelled", if_match)


@router.post("/jobs/{id}/stop", responses=AS_A_JOB)
@needs(Scope.WRITE)
async def stop(
    request: Request, id: str, once: OnceDep, body: Cancel | None = None, if_match: IfMatch = None
) -> Response:
    """Cancel, by its other name."""
    known_only(request, set())
    asked = body or Cancel()
    return await _cancel(once, id, asked.mode, asked.reason or "stopped", if_match)


@router.get("/jobs/{id}/stop", responses=AS_A_JOB)
@needs(Scope.WRITE, is_unsafe_get=True)
async def stop_by_get(
    request: Request,
    id: str,
    once: OnceDep,
    mode: Literal["soft", "hard"] = "soft",
    reason: Annotated[Reason, Query()] = "stopped",
    if_match: IfMatch = None,
) -> Response:
    """The same for clients that only GET. Browsers are refused: a link must not stop anything."""
    known_only(request, {"mode", "reason"})
    return await _cancel(once, id, mode, reason, if_match)


@router.post("/jobs/{id}/resume", responses=AS_A_JOB)
@needs(Scope.WRITE, "duplicate_key")
async def resume(
    request: Request, id: str, once: OnceDep, body: Why | None = None, if_match: IfMatch = None
) -> Response:
    """Let a job go on that was cancelled or has failed, where its lifecycle has that."""
    known_only(request, set())
    job, tables = await _found(once.store, id)
    reason = (body and body.reason) or "resumed"

    async def resume(store: Store) -> Job:
        return await commands.resume(store, job.id, reason, once.actor)

    return response(await once.run(resume, tell_moved(job.id, tables), expects=expected(job, if_match)))


@router.post("/jobs/{id}/retry", responses={200: {"model": RetriedJob}})
@needs(Scope.WRITE)
async def retry(
    request: Request, id: str, engine: EngineDep, once: OnceDep, body: Why | None = None, if_match: IfMatch = None
) -> Response:
    """Run a job now: one that waits for its time becomes due, one that ended badly is submitted anew (`is_new`)."""
    known_only(request, set())
    job, tables = await _found(once.store, id)
    reason = (body and body.reason) or "retried"

    async def retry(store: Store) -> commands.Retried:
        return await commands.retry(store, job.id, reason, once.actor, dead.checker(engine.registry))

    def tell(result: Any) -> Script[Reply | None]:
        if isinstance(result, Applied):
            return (yield from tell_job(job.id, tables, is_new=False)) if result.versions else None
        return (yield from tell_job(_made(result).job_id, tables, is_new=True, retry_of=job.id))

    async def finish(done: commands.Retried) -> Reply:
        return await job_as_it_is(once.store, done.job_id, is_new=done.is_new)

    return response(await once.run(retry, tell, finish, expected(job, if_match)))


@router.post("/jobs/{id}/replay", status_code=201, responses=AS_REPLAYED)
@needs(Scope.WRITE)
async def replay(
    request: Request, id: str, engine: EngineDep, once: OnceDep, body: Replay | None = None, if_match: IfMatch = None
) -> Response:
    """Submit a dead-lettered job once more, its arguments edited or not. Twice gives the same job."""
    known_only(request, set())
    job, tables = await _found(once.store, id)
    asked = body or Replay()

    async def replay(store: Store) -> Mapping[str, Submitted]:
        check = dead.checker(engine.registry)
        try:
            return await dead.replay(
                store, [job.id], edits=asked.edits, check=check, actor=once.actor, reason=asked.reason
            )
        except NotFoundError:
            remedy = "it has no dead letter; retry runs it again"
            raise commands.NotNowError(job, tables[job.lifecycle], "replay", remedy) from None

    def tell(result: Any) -> Script[Reply | None]:
        made = _made(result)
        more = {"created": made.created, "replay_of": job.id}
        return (yield from tell_job(made.job_id, tables, 201 if made.created else 200, **more))

    return response(await once.run(replay, tell, expects=expected(job, if_match)))


@router.delete("/jobs/{id}", responses={200: {"model": Deleted}})
@needs(Scope.ADMIN)
async def delete(request: Request, id: str, once: OnceDep, if_match: IfMatch = None) -> Response:
    """Remove a finished job with everything that belongs to it; the removal itself is on record."""
    known_only(request, set())
    if (before := await once.was_answered()) is not None:
        return response(before)  # the job is gone, and that is what the answer is about
    job, _ = await _found(once.store, id)

    async def delete(store: Store) -> PurgeRow:
        return await commands.delete(store, [job.id])

    def tell(result: Any) -> Script[Reply | None]:
        yield from ()
        if not isinstance(result, PurgeRow):
            return None  # a seal that had to be made first
        return reply(200, {"id": job.id, "deleted": True, "purge": result.number, "events": result.events})

    return response(await once.run(delete, tell, expects=expected(job, if_match)))


def _made(result: Any) -> Submitted:
    """The one job that a submit or a replay made, or found."""
    [made] = result.values() if isinstance(result, Mapping) else result
    return Submitted(*made)
