"""/flows: start one by its name or as data, list them, show one with its nodes; cancel, resume and retry it.

A repeat of a change under its key has no second effect.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from holdfast.api.access.keys import Scope
from holdfast.api.access.scopes import needs
from holdfast.api.deps import CallerDep, EngineDep, StoreDep
from holdfast.api.jobs.idempotency import Once, OnceDep, Reply, reply
from holdfast.api.jobs.read import page_of_kind
from holdfast.api.jobs.replies import IfMatch, versions_of
from holdfast.api.problems.kinds import Problem, missing, refusal
from holdfast.api.shapes import jobs as schemas
from holdfast.api.shapes.bodies import Cancel, Why
from holdfast.api.shapes.forms import Asker, origin_of
from holdfast.api.shapes.pages import DEFAULT, Cursor, Limit
from holdfast.kernel import decisions
from holdfast.kernel.decisions import Decide
from holdfast.kernel.errors import HoldfastError, NotFoundError, PayloadError
from holdfast.kernel.graph.flow_lifecycle import FLOW
from holdfast.runtime.inside import Inside
from holdfast.runtime.task import Options
from holdfast.store.port import Ask, Facts
from holdfast.systems.flow.commands.retry import flow_job, go_on
from holdfast.systems.flow.commands.submit import store_flow
from holdfast.systems.flow.declare.document import Sent, packed, read
from holdfast.systems.flow.declare.flow import flows_of
from holdfast.systems.flow.routes.schemas import Flow, FlowJob, MadeFlow, NewFlow
from holdfast.systems.flow.views.flow import flow_view, flow_views, summary
from holdfast.systems.flow.views.run import run_of
from holdfast.tasks.signature import ArgumentsError, Signature

OF_THE_FLOW = {"input", "nodes", "on_failure"}
T = TypeVar("T")
EXISTS = "a flow with this key exists already; it is the answer, and nothing was created"
router = APIRouter(tags=["flows"])
Answers = dict[int | str, dict[str, Any]]
AS_MADE: Answers = {
    200: {"model": MadeFlow, "description": "It exists already (`created` is false)."},
    201: {"model": MadeFlow, "description": "Created. `Location` says where it is."},
}
AS_A_FLOW: Answers = {200: {"model": FlowJob}}
AS_RETRIED: Answers = {
    200: {"model": MadeFlow, "description": "It was retried before."},
    201: {"model": MadeFlow, "description": "The flow that goes on with it."},
}


@router.post("/flows/{flow}", status_code=201, responses=AS_MADE)
@needs(Scope.WRITE, "duplicate_key")
async def start(
    request: Request,
    name: Annotated[
        str, Path(alias="flow", description="A flow that is declared here; with `nodes`, what to call this one.")
    ],
    engine: EngineDep,
    caller: CallerDep,
    once: OnceDep,
    body: NewFlow | None = None,
) -> Response:
    """Start a flow that is declared here, or a DAG that is sent as data. All of its nodes are stored, or nothing is."""
    asked = body or NewFlow()
    origin = origin_of(request, caller)
    # Apart from the loop: a DAG may have ten thousand nodes, and others are served meanwhile.
    graph, signature = await asyncio.to_thread(_planned, engine, name, asked)
    payload = _input(signature, asked.input)
    options = _options(asked, origin)

    async def submit(ask: Ask) -> Facts:
        return await store_flow(engine, once.store, graph, payload, options, ask)

    return await once.run(submit, lambda done: made_flow(done, EXISTS))


def _planned(engine: Inside, name: str, asked: NewFlow) -> Sent:
    """The graph, and what its input is checked against; Problem names what is wrong."""
    try:
        if asked.nodes is not None:
            chosen = {} if asked.on_failure is None else {"on_failure": asked.on_failure}
            return read({"name": name, "nodes": asked.nodes, **chosen}, engine.registry)
        known = flows_of(engine)
        if name not in known:
            words = f"declared here: {', '.join(sorted(known))}" if known else "none is declared here"
            raise missing("flow", name, f"{words}; or send its `nodes`", field="name", allowed=sorted(known))
        if asked.on_failure is not None:
            detail = "a flow that is declared says this itself; leave it out, or send `nodes`"
            raise Problem("invalid_field", detail, field="on_failure")
        return Sent(known[name].graph(), known[name].signature)
    except HoldfastError as wrong:
        raise refusal("invalid_field", wrong) from None


def _input(signature: Signature | None, given: dict[str, Any]) -> str:
    """What a flow is submitted with; Problem names what is wrong about it."""
    try:
        return packed(signature, given)
    except (ArgumentsError, PayloadError) as wrong:
        field = (wrong.field or "").removeprefix("args").removeprefix(".")
        raise refusal("invalid_field", wrong, field=f"input.{field}" if field else "input") from None


def _options(asked: NewFlow, origin: Asker) -> Options:
    given = asked.model_dump(exclude=OF_THE_FLOW, exclude_none=True)
    if "tags" in given:
        given["tags"] = tuple(given["tags"])
    return Options(**{"correlation_id": origin.correlation_id, **given}, trace_id=origin.trace_id)


def flow_reply(done: Facts, flow_id: str, status: int = 200, **more: Any) -> Reply:
    """A flow as it stood when something was done to it."""
    job = done.jobs[flow_id]
    view = summary(job, done.flows.get(flow_id)) | more
    return reply(status, view, ETag=f'"{job.version}"', Location=f"/api/flows/{job.id}")


def made_flow(done: Facts, exists: str) -> Reply:
    made = done.one
    more = {"created": made.created} | ({} if made.created else {"message": exists})
    return flow_reply(done, made.job_id, 201 if made.created else 200, **more)


@router.get("/flows", response_model=schemas.Page[FlowJob], response_model_exclude_unset=True)
@needs(Scope.READ)
async def list_flows(
    store: StoreDep,
    state: Annotated[list[str] | None, Query(description="ACTIVE, COMPLETED, …; may be given several times.")] = None,
    name: Annotated[str | None, Query(description="Only flows of this name.")] = None,
    limit: Limit = DEFAULT,
    cursor: Cursor = None,
) -> dict[str, Any]:
    """List flows, newest first, each with its counts."""
    where = {"state": sorted(set(state or ())), "name": name}
    found, next_cursor = await page_of_kind(store, FLOW.name, where, "name", limit, cursor)
    return {"items": await flow_views(store, found), "next_cursor": next_cursor}


@router.get("/flows/{flow}", response_model=Flow, response_model_exclude_unset=True)
@needs(Scope.READ)
async def show_flow(
    id: Annotated[str, Path(alias="flow", description="A flow's id.")], store: StoreDep
) -> dict[str, Any]:
    """Show a flow: its nodes, since when each could run, when it ran and why it did not, and the ways between them."""
    return await flow_view(store, await _found(run_of(store, id), id))


async def _found(looking: Awaitable[T], flow_id: str) -> T:
    """What is found of the flow with this id, or a problem."""
    try:
        return await looking
    except NotFoundError:
        raise missing("flow", flow_id, "GET /api/flows lists those that there are") from None


async def _change(once: Once, flow_id: str, decide: Decide, if_match: str | None) -> Response:
    flow = await _found(flow_job(once.store, flow_id), flow_id)

    async def change(ask: Ask) -> Facts:
        return await once.store.jobs.change([flow.id], decide, ask)

    return await once.run(change, lambda done: flow_reply(done, flow.id), versions_of(if_match))


@router.post("/flows/{id}/cancel", responses=AS_A_FLOW)
@needs(Scope.WRITE)
async def cancel(id: str, once: OnceDep, body: Cancel | None = None, if_match: IfMatch = None) -> Response:
    """Cancel a flow: its nodes at once where no worker has them, else by asking. It ends with the last of them."""
    asked = body or Cancel()
    return await _change(once, id, decisions.cancel(asked.reason or "cancelled", asked.mode), if_match)


@router.post("/flows/{id}/resume", responses=AS_A_FLOW)
@needs(Scope.WRITE, "duplicate_key")
async def resume(id: str, once: OnceDep, body: Why | None = None, if_match: IfMatch = None) -> Response:
    """Bring a cancelled flow back: its cancelled nodes run, or wait, anew."""
    return await _change(once, id, decisions.resume((body and body.reason) or "resumed"), if_match)


@router.post("/flows/{id}/retry", status_code=201, responses=AS_RETRIED)
@needs(Scope.WRITE)
async def retry(id: str, once: OnceDep, body: Why | None = None, if_match: IfMatch = None) -> Response:
    """Make the flow that goes on where this one failed or was cancelled: what ended well is not run again."""
    flow = await _found(flow_job(once.store, id), id)
    reason = (body and body.reason) or "retried"

    async def retry(ask: Ask) -> Facts:
        return await go_on(once.store, flow.id, reason, once.actor, ask)

    return await once.run(retry, lambda done: made_flow(done, "it was retried before"), versions_of(if_match))
