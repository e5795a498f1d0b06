"""GET /pipeline/jobs/{id}/stream: a run's stages as they begin, go on and end, until the run is over."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Header
from fastapi.sse import format_sse_event
from starlette.responses import Response, StreamingResponse

from holdfast.api.access.keys import Scope
from holdfast.api.access.scopes import needs
from holdfast.api.deps import EngineDep, StoreDep
from holdfast.api.jobs.events_stream import IN_OPENAPI, LAST_ID, Stream
from holdfast.api.jobs.streams import Streams, StreamsDep
from holdfast.api.problems.kinds import Problem
from holdfast.store.port import Store
from holdfast.systems.pipeline.routes.runs import run_of
from holdfast.systems.pipeline.views import View, declared_stages, pipeline_views
from holdfast.views.follower import PING_EVERY_S

LOOK_EVERY_S = 0.25
OVER = 1_000_000
"""The numbers of a stream's last messages: behind those of any stage."""
Message = tuple[int, str, dict[str, Any]]

router = APIRouter(tags=["pipelines"])


@router.get(
    "/pipeline/jobs/{id}/stream", response_class=StreamingResponse, responses=IN_OPENAPI, summary="Follow a run (SSE)"
)
@needs(Scope.READ, is_stream=True)
async def follow_run(
    id: str,
    streams: StreamsDep,
    engine: EngineDep,
    store: StoreDep,
    last_event_id: Annotated[
        str | None, Header(description="Go on behind this message: what a reconnect sends.")
    ] = None,
) -> Response:
    """A run as server-sent events: `stage_start`, `stage_progress`, `stage_complete`, `error`, `job_complete`.

    It begins with the first stage, or behind the id that is given: an id means the same in every stream of the run.
    """
    streams.check_room()
    after = _number(last_event_id)
    job = await run_of(store, id)
    if after >= OVER + 2:
        return Response(status_code=204)
    await streams.now()
    return Stream(_follow(streams, store, job.id, declared_stages(engine, job.task), after))


def _number(text: str | None) -> int:
    if text is None:
        return 0
    if re.fullmatch(r"\d{1,9}", text, re.ASCII) is None:
        raise Problem("invalid_parameter", f"{LAST_ID} is {text[:40]!r}: use the id of a message", field=LAST_ID)
    return int(text)


async def _follow(
    streams: Streams, store: Store, job_id: str, declared: list[str], after: int
) -> AsyncGenerator[bytes]:
    with streams.follower():
        yield format_sse_event(retry=1_000, comment="holdfast")
        position, quiet_s, last_progress = await streams.now(), 0.0, None
        while not streams.closing:
            job = await store.reads.get(job_id)
            if job is None:
                yield _sse(OVER + 1, "error", {"job_id": job_id, "message": "the job was removed"})
                return
            [view] = await pipeline_views(store, [job], declared)
            for number, kind, data in messages(view):
                # Progress has the number of its stage's start: it is news as often as it says something new.
                if number > after or (kind == "stage_progress" and number == after and data != last_progress):
                    yield _sse(number, kind, data)
                    after, quiet_s = max(after, number), 0.0
                    last_progress = data if kind == "stage_progress" else last_progress
                if kind == "job_complete":
                    return
            _, position = await streams.until_moved(job_id, position, LOOK_EVERY_S)
            quiet_s += LOOK_EVERY_S
            if quiet_s >= PING_EVERY_S:
                quiet_s = 0.0
                yield format_sse_event(comment="ping")
        yield format_sse_event(comment="the server is going down: resume behind the last id")


def messages(view: View) -> Iterator[Message]:
    """Everything that a run has to tell so far, numbered: the same numbers whenever it is asked."""
    about = {"job_id": view["id"], "attempt": view["attempt"]}
    for place, stage in enumerate(view["stages"]):
        start, end = 2 * place + 1, 2 * place + 2
        named = {**about, "stage": stage["name"]}
        if stage["status"] == "pending" or (stage["finished_at"] is None and view["finished_at"] is not None):
            continue  # not begun, or never ended: what became of it is said with the job's end
        if stage["status"] != "skipped":
            yield start, "stage_start", named
        if stage["status"] == "running":
            if stage["progress"] is not None:
                yield start, "stage_progress", {**named, "progress": stage["progress"], "metrics": stage["metrics"]}
            continue
        yield end, "stage_complete", {**named, **stage}
    if view["finished_at"] is None:
        return
    if view["error"] is not None:
        # Without the error's own `stage`, which is where in a worker it happened, not in which stage of the run.
        error = {name: view["error"].get(name) for name in ("code", "class", "message", "context")}
        yield OVER + 1, "error", {**about, **error}
    statuses = {stage["name"]: stage["status"] for stage in view["stages"]}
    yield OVER + 2, "job_complete", {**about, "state": view["state"], "stages": statuses}


def _sse(number: int, kind: str, data: dict[str, Any]) -> bytes:
    return format_sse_event(data_str=json.dumps(data, separators=(",", ":")), event=kind, id=str(number))
