"""What is done to a flow as a whole: cancel, resume, retry. A repeat under its key has no second effect."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from holdfast.api.access.keys import Scope
from holdfast.api.access.scopes import needs
from holdfast.api.jobs.idempotency import Once, OnceDep
from holdfast.api.jobs.replies import IfMatch, versions_of
from holdfast.api.problems.kinds import missing
from holdfast.api.shapes.bodies import Cancel, Why
from holdfast.api.shapes.pages import known_only
from holdfast.kernel import decisions
from holdfast.kernel.decisions import Decide
from holdfast.kernel.errors import NotFoundError
from holdfast.kernel.job import Job
from holdfast.store.port import Ask, Facts, Store
from holdfast.systems.flow.commands.retry import flow_job, go_on
from holdfast.systems.flow.routes.flows import flow_reply, made_flow
from holdfast.systems.flow.routes.schemas import FlowJob, MadeFlow

router = APIRouter(tags=["flows"])
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


async def _change(once: Once, flow_id: str, decide: Decide, if_match: str | None) -> Response:
    flow = await _found(once.store, flow_id)

    async def change(ask: Ask) -> Facts:
        return await once.store.jobs.change([flow.id], decide, ask)

    return await once.run(change, lambda done: flow_reply(done, flow.id), versions_of(if_match))


@router.post("/flows/{id}/cancel", responses=AS_A_FLOW)
@needs(Scope.WRITE)
async def cancel(
    request: Request, id: str, once: OnceDep, body: Cancel | None = None, if_match: IfMatch = None
) -> Response:
    """Cancel a flow: its nodes at once where no worker has them, else by asking. It ends with the last of them."""
    known_only(request, set())
    asked = body or Cancel()
    return await _change(once, id, decisions.cancel(asked.reason or "cancelled", asked.mode), if_match)


@router.post("/flows/{id}/resume", responses=AS_A_FLOW)
@needs(Scope.WRITE, "duplicate_key")
async def resume(
    request: Request, id: str, once: OnceDep, body: Why | None = None, if_match: IfMatch = None
) -> Response:
    """Bring a cancelled flow back: its cancelled nodes run, or wait, anew."""
    known_only(request, set())
    return await _change(once, id, decisions.resume((body and body.reason) or "resumed"), if_match)


@router.post("/flows/{id}/retry", status_code=201, responses=AS_RETRIED)
@needs(Scope.WRITE)
async def retry(
    request: Request, id: str, once: OnceDep, body: Why | None = None, if_match: IfMatch = None
) -> Response:
    """Make the flow that goes on where this one failed or was cancelled: what ended well is not run again."""
    known_only(request, set())
    flow = await _found(once.store, id)
    reason = (body and body.reason) or "retried"

    async def retry(ask: Ask) -> Facts:
        return await go_on(once.store, flow.id, reason, once.actor, ask)

    return await once.run(retry, lambda done: made_flow(done, "it was retried before"), versions_of(if_match))
