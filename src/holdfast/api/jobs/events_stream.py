"""GET /events: every transition as it happens, resumable without a gap or a repeat."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi.sse import EventSourceResponse, format_sse_event
from starlette.responses import StreamingResponse
from starlette.types import Message, Send

from holdfast.api.access.keys import Scope
from holdfast.api.access.scopes import needs
from holdfast.api.deps import StoreDep
from holdfast.api.jobs.streams import StreamsDep
from holdfast.api.problems.kinds import Problem, refusal
from holdfast.observe.logs import get_logger
from holdfast.store.port import Store
from holdfast.views.following import wanted
from holdfast.views.listing import FilterError

SEND_TIMEOUT_S = 30.0
"""A client that takes nothing for this long is let go."""
LAST_ID = "Last-Event-ID"
LastId = Annotated[str | None, Header(description="As `after`, and stronger: what a reconnect sends.")]
LARGEST = 2**63 - 1
FILTERS = frozenset({"job", "task", "queue", "lifecycle", "state"})

# Said by hand: the framework takes EventSourceResponse as a route's class for a generator of its own kind.
IN_OPENAPI: dict[int | str, dict[str, Any]] = {
    200: {"description": "Server-sent events", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
}

router = APIRouter(tags=["events"])
log = get_logger("holdfast.streams")


class Stream(EventSourceResponse):
    """Chunks as they come. Its source is closed with it, and a client that takes nothing is not waited for."""

    def __init__(self, chunks: AsyncGenerator[bytes]) -> None:
        super().__init__(_ended_well(chunks), headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._chunks = chunks

    async def stream_response(self, send: Send) -> None:
        async def in_time(message: Message) -> None:
            async with asyncio.timeout(SEND_TIMEOUT_S):
                await send(message)

        async with aclosing(self._chunks):
            try:
                await super().stream_response(in_time)
            except TimeoutError:
                log.warning("stream_stuck", seconds=SEND_TIMEOUT_S)


async def _ended_well(chunks: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """What goes wrong after the first byte can only be said in the stream: the client resumes."""
    try:
        async for chunk in chunks:
            yield chunk
    except Exception as error:
        log.warning("stream_failed", error=str(error))
        yield format_sse_event(comment="interrupted: resume behind the last id")


@router.get("/events", response_class=StreamingResponse, responses=IN_OPENAPI, summary="Follow every transition (SSE)")
@needs(Scope.READ, is_stream=True)
async def follow_events(
    streams: StreamsDep,
    store: StoreDep,
    job: Annotated[list[str], Query(description="Only of these jobs.")] = [],  # noqa: B006 - FastAPI copies it
    task: Annotated[list[str], Query(description="Only of jobs of these tasks.")] = [],  # noqa: B006
    queue: Annotated[list[str], Query(description="Only of jobs in these queues.")] = [],  # noqa: B006
    lifecycle: Annotated[list[str], Query(description="Only of jobs of these lifecycles.")] = [],  # noqa: B006
    state: Annotated[list[str], Query(description="Only into these states, by label or canonical name.")] = [],  # noqa: B006
    after: Annotated[str | None, Query(description="Begin behind this id; 0 is the whole log.")] = None,
    last_event_id: LastId = None,
) -> Stream:
    """Every transition of every job, in the order of the log, as server-sent events.

    `id` is the position in the log. A client that comes back with the last one it got, as Last-Event-ID or `after`,
    gets what followed, all of it and once. Without either the stream begins now. Filters of one name are
    alternatives; of several names all must hold. Every 15 s without news there is a comment that carries
    the position reached.
    """
    streams.check_room()
    tables = await store.reads.lifecycles()
    try:
        chosen = wanted(tables, jobs=job, tasks=task, queues=queue, lifecycles=lifecycle, states=state)
    except FilterError as wrong:
        raise refusal("invalid_parameter", wrong) from None
    begin = await streams.now()
    if last_event_id is not None:
        begin = await _position(store, LAST_ID, last_event_id)
    elif after is not None:
        begin = await _position(store, "after", after)
    return Stream(streams.stream(begin, chosen))


async def _position(store: Store, name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= LARGEST):
        raise Problem("invalid_parameter", f"{name} is {text[:40]!r}: use the id of an event, or 0", field=name)
    position = int(text)
    seal = await store.reads.last_seal()
    end = max(await store.log.end(), await store.reads.last_pos(), 0 if seal is None else seal.last_pos)
    if position > end:
        detail = f"{name} is {position}, and the log ends at {end}: use an id that this server gave out, or 0"
        raise Problem("invalid_parameter", detail, field=name)
    return position
