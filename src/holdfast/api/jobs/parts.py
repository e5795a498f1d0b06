"""Parts of one job: its events, attempts, log, files, result, and what can be said of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Header, Path, Query, Response
from starlette.responses import StreamingResponse

from holdfast.api.access.keys import Scope
from holdfast.api.access.scopes import needs
from holdfast.api.deps import StoreDep
from holdfast.api.jobs.read import job_of
from holdfast.api.problems.kinds import Problem
from holdfast.api.shapes import jobs as schemas
from holdfast.audit.certificates import NotProvenError, prove
from holdfast.kernel.state import SUCCESSFUL
from holdfast.tasks.job_log import LOG
from holdfast.views.explain import explain
from holdfast.views.family import graph_view
from holdfast.views.job import event_view, job_view, label
from holdfast.views.of_systems import views_of
from holdfast.views.part_views import artifact_view, attempt_view, explanation_view, log_text, log_view
from holdfast.views.situation import situation_of

MOST_LINES = 10_000
JSON_LINES = "application/x-ndjson"

router = APIRouter(tags=["jobs"])
Id = Annotated[str, Path(description="The job's id.")]


@router.get("/jobs/{id}/events", response_model=schemas.Items[schemas.Event])
@needs(Scope.READ)
async def events(id: Id, store: StoreDep) -> dict[str, Any]:
    """Everything that happened to a job, in order."""
    job = await job_of(store, id)
    table = (await store.reads.lifecycles()).get(job.lifecycle)
    return {"items": [event_view(event, table) for event in await store.reads.events(job.id)]}


@router.get("/jobs/{id}/attempts", response_model=schemas.Items[schemas.Attempt])
@needs(Scope.READ)
async def attempts(id: Id, store: StoreDep) -> dict[str, Any]:
    """A job's attempts: who had it, and how each ended."""
    job = await job_of(store, id)
    return {"items": [attempt_view(attempt) for attempt in await store.reads.attempts(job.id)]}


@router.get(
    "/jobs/{id}/logs",
    response_class=Response,
    responses={
        200: {
            "description": "One JSON object a line, or plain text when Accept says so.",
            "content": {
                JSON_LINES: {"schema": schemas.LogLine.model_json_schema()},
                "text/plain": {"schema": {"type": "string"}},
            },
        }
    },
)
@needs(Scope.READ)
async def logs(
    id: Id,
    store: StoreDep,
    after: Annotated[int, Query(ge=0, le=2**62, description="Lines behind the line with this id.")] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_LINES)] = 1_000,
    accept: Annotated[str | None, Header()] = None,
) -> Response:
    """What a job's handler logged, oldest first. Lines are kept for a day."""
    job = await job_of(store, id)
    lines = [log_view(line) for line in await store.reads.signals_of_type(job.id, LOG, after=after, limit=limit)]
    if "text/plain" in (accept or "").lower():
        return Response("".join(f"{log_text(line)}\n" for line in lines), media_type="text/plain")
    body = "".join(f"{schemas.LogLine.model_validate(line).model_dump_json()}\n" for line in lines)
    return Response(body, media_type=JSON_LINES)


@router.get("/jobs/{id}/artifacts", response_model=schemas.Items[schemas.Artifact])
@needs(Scope.READ)
async def artifacts(id: Id, store: StoreDep) -> dict[str, Any]:
    """The files that a job left."""
    job = await job_of(store, id)
    return {"items": [artifact_view(artifact) for artifact in await store.kept.artifacts(job.id)]}


@router.get(
    "/jobs/{id}/artifacts/{name:path}",
    response_class=Response,
    responses={200: {"description": "Its bytes.", "content": {"application/octet-stream": {}}}},
)
@needs(Scope.READ)
async def artifact(id: Id, name: str, store: StoreDep) -> Response:
    """One file that a job left, as it is, to be saved and never to be run by a browser."""
    job = await job_of(store, id)
    found = None if "\x00" in name else await store.kept.artifact(job.id, name)
    if found is None:
        names = [each.name for each in await store.kept.artifacts(job.id)]
        raise Problem("not_found", f"job {job.id} left no file {name[:100]!r}", field="name", allowed=names[:100])
    headers = {
        "Content-Length": str(found.size),
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name.rpartition('/')[2], safe='')}",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }
    pieces = store.files.read(found.blob)
    first = await anext(pieces, b"")  # a blob that is gone is a 404 as long as nothing has been sent
    return StreamingResponse(_chained(first, pieces), media_type="application/octet-stream", headers=headers)


async def _chained(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in rest:
        yield piece


@router.get(
    "/jobs/{id}/result",
    response_model=schemas.Result,
    responses={409: {"description": "It has not ended well; `detail` says where it stands."}},
)
@needs(Scope.READ, "conflict_state")
async def result(id: Id, store: StoreDep) -> dict[str, Any]:
    """What a job that ended well returned; a flow, what came out of each node that nothing waits for."""
    job = await job_of(store, id)
    table = (await store.reads.lifecycles()).get(job.lifecycle)
    view = job_view(job, table)
    if job.state not in SUCCESSFUL:
        error = view["error"] or {}
        why = f": {error.get('code')}: {error.get('message')}"[:300] if error else ""
        good = sorted({label(table, state.value) for state in SUCCESSFUL if table and table.parse(state.value)})
        raise Problem("conflict_state", f"job {job.id} is {view['state']}{why}", field="state", allowed=good)
    view["result"] = await views_of(job.lifecycle).result(store, job, view["result"])
    return {name: view[name] for name in ("id", "state", "canonical_state", "result")}


@router.get("/jobs/{id}/explain", response_model=schemas.Explanation)
@needs(Scope.READ)
async def explanation(id: Id, store: StoreDep) -> dict[str, Any]:
    """Why a job is where it is, in one sentence, and the command that helps."""
    about = await situation_of(store, await job_of(store, id))
    return explanation_view(about.job, about.table, explain(about))


@router.get("/jobs/{id}/graph", response_model=schemas.Graph)
@needs(Scope.READ)
async def graph(id: Id, store: StoreDep) -> dict[str, Any]:
    """A flow's graph, also by one of its nodes, drawn too; of any other job its family, parents and children."""
    job = await job_of(store, id)
    return await views_of(job.lifecycle).graph(store, job) or await graph_view(store, job)


@router.get(
    "/jobs/{id}/certificate",
    response_class=Response,
    responses={
        200: {"description": "For `holdfast verify`.", "content": {"application/json": {"schema": {"type": "object"}}}},
        409: {"description": "Its newest events are not sealed yet: a moment later they are."},
    },
)
@needs(Scope.READ, "conflict_state")
async def certificate(id: Id, store: StoreDep) -> Response:
    """A job's certificate: its events, and the proof that they are in the sealed log."""
    job = await job_of(store, id)
    await store.table(job.lifecycle)
    try:
        made = await prove(store, job.id)
    except NotProvenError as error:
        raise Problem("conflict_state", str(error), headers={"Retry-After": "5"}) from None
    # As it is: another order or spelling of numbers would still verify, but need not look the same.
    return Response(json.dumps(made, ensure_ascii=False), media_type="application/json")
