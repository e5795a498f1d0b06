"""What is done to a flow as a whole: cancel, resume, retry. A repeat under its key has no second effect."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from holdfast.api.access.keys import Scope
from holdfast.api.access.scopes import needs
from holdfast.api.jobs.idempotency import OnceDep, response
from holdfast.api.jobs.replies import IfMatch, expected
from holdfast.api.problems.kinds import missing
from holdfast.api.shapes.bodies import Cancel, Why
from holdfast.api.shapes.pages import known_only
from holdfast.commands import jobs as commands
from holdfast.kernel.errors import NotFoundError
from holdfast.kernel.job import Job
from holdfast.kernel.state import Canonical
from holdfast.store.jobs.requests import Reply, job_now
from holdfast.store.port import Store, Submitted
from holdfast.store.script import Script
from holdfast.systems.flow.commands.retry import flow_job
from holdfast.systems.flow.commands.retry import retry as go_on
from holdfast.systems.flow.routes.flows import tell_flow
from holdfast.systems.flow.routes.schemas import FlowJob, MadeFlow

router = APIRouter(tags=["flows"])
STOPPED = (Canonical.WAITING, Canonical.CANCELLED)
Answers = dict[int | str, dict[str, Any]]
AS_A_FLOW: Answers = {200: {"model": FlowJob}}
AS_RETRIED: Answers = {
    200: {"model": MadeFlow, "description": "It was retried before."},
    201: {"model": MadeFlow, "description": "The flow that goes on with it."},
}


async def _found(store: Store, flow_id: str) -> Job:
    try:
        return await flow_job(store, flow_id)
    except NotFoundError:
        raise missing("flow", flow_id, "GET /api/flows lists those that there are") from None


@router.post("/flows/{id}/cancel", responses=AS_A_FLOW)
@needs(Scope.WRITE)
async def cancel(
    request: Request, id: str, once: OnceDep, body: Cancel | None = None, if_match: IfMatch = None
) -> Response:
    """Cancel a flow: its nodes at once where no worker has them, else by asking. It ends with the last of them."""
    known_only(request, set())
    flow = await _found(once.store, id)
    asked = body or Cancel()

    async def cancel(store: Store) -> Job:
        return await commands.cancel(store, flow.id, asked.reason or "cancelled", asked.mode, once.actor)

    def tell(stopped: int) -> Script[Reply | None]:
        now = yield from job_now(flow.id)
        # One that ended a moment ago was not cancelled: whoever asks again is told so.
        return (yield from tell_flow(flow.id)) if now is not None and now.state in STOPPED else None

    return response(await once.run(cancel, tell, expects=expected(flow, if_match)))


@router.post("/flows/{id}/resume", responses=AS_A_FLOW)
@needs(Scope.WRITE, "duplicate_key")
async def resume(
    request: Request, id: str, once: OnceDep, body: Why | None = None, if_match: IfMatch = None
) -> Response:
    """Bring a cancelled flow back: its cancelled nodes run, or wait, anew."""
    known_only(request, set())
    flow = await _found(once.store, id)
    reason = (body and body.reason) or "resumed"

    async def resume(store: Store) -> Job:
        return await commands.resume(store, flow.id, reason, once.actor)

    def tell(returned: int) -> Script[Reply | None]:
        return (yield from tell_flow(flow.id))

    return response(await once.run(resume, tell, expects=expected(flow, if_match)))


@router.post("/flows/{id}/retry", status_code=201, responses=AS_RETRIED)
@needs(Scope.WRITE)
async def retry(
    request: Request, id: str, once: OnceDep, body: Why | None = None, if_match: IfMatch = None
) -> Response:
    """Make the flow that goes on where this one failed or was cancelled: what ended well is not run again."""
    known_only(request, set())
    flow = await _found(once.store, id)
    reason = (body and body.reason) or "retried"

    async def retry(store: Store) -> Submitted:
        return await go_on(store, flow.id, reason, once.actor)

    def tell(answer: Submitted) -> Script[Reply | None]:
        more = {"created": answer.created} | ({} if answer.created else {"message": "it was retried before"})
        return (yield from tell_flow(answer.job_id, 201 if answer.created else 200, **more))

    return response(await once.run(retry, tell, expects=expected(flow, if_match)))
