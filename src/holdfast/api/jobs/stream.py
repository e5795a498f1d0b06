"""GET /jobs/{id}/stream: one job's transitions, progress and log lines, until it is over."""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import AsyncGenerator
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Response
from fastapi.sse import format_sse_event
from starlette.responses import StreamingResponse

from holdfast.api.access.keys import Scope
from holdfast.api.access.scopes import needs
from holdfast.api.deps import StoreDep
from holdfast.api.jobs.events_stream import IN_OPENAPI, LAST_ID, LastId, Stream
from holdfast.api.jobs.streams import Streams, StreamsDep
from holdfast.api.problems.kinds import Problem
from holdfast.kernel.event import Event
from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.state import LEASED, OVER, RANK
from holdfast.store.port import SignalRow, Store
from holdfast.tasks.job_log import LOG
from holdfast.views.find import get_job
from holdfast.views.follower import PING_EVERY_S
from holdfast.views.job import event_view, iso, label
from holdfast.views.part_views import log_view

KNOWN = frozenset({"after"})
HEAR_EVERY_S = 0.5
"""How late a running job's words may be noticed."""
AT_ONCE = 500

router = APIRouter(tags=["jobs"])


class StreamPlace(NamedTuple):
    """How far a stream is: the job's last event, its last signal, and whether its end was told."""

    seq: int = 0
    signal: int = 0
    ended: bool = False

    def __str__(self) -> str:
        return f"{self.seq}.{self.signal}" + (".end" if self.ended else "")


@router.get(
    "/jobs/{job_id}/stream", response_class=StreamingResponse, responses=IN_OPENAPI, summary="Follow one job (SSE)"
)
@needs(Scope.READ, is_stream=True)
async def follow_job(
    job_id: str,
    streams: StreamsDep,
    store: StoreDep,
    after: Annotated[str | None, Query(description="Begin behind this id.")] = None,
    last_event_id: LastId = None,
) -> Response:
    """A job's life as server-sent events: `transition`, `progress`, `log`, and `end` once it is over.

    It begins at the job's first event, or behind the id that is given. The stream ends by itself; who comes back after
    the end is answered 204, which tells a browser to stay away.
    """
    streams.check_room()
    given = (LAST_ID, last_event_id) if last_event_id is not None else ("after", after)
    place = _place(*given)
    job = await get_job(store, job_id)
    if place.ended and RANK[job.state] >= OVER and not await _news(store, job.id, place):
        return Response(status_code=204)
    await streams.now()
    return Stream(_follow(streams, store, job.id, await store.table(job.lifecycle), place))


def _place(name: str, text: str | None) -> StreamPlace:
    if text is None:
        return StreamPlace()
    found = re.fullmatch(r"(\d{1,10})\.(\d{1,18})(\.end)?", text, re.ASCII)
    if found is None:
        detail = f"{name} is {text[:40]!r}: use the id of a message of this stream"
        raise Problem("invalid_parameter", detail, field=name)
    return StreamPlace(int(found[1]), int(found[2]), found[3] is not None)


async def _news(store: Store, job_id: str, place: StreamPlace) -> list[Event | SignalRow]:
    """What happened and was said behind a place, in the order of time."""
    events: list[Event | SignalRow] = [event for event in await store.reads.events(job_id) if event.seq > place.seq]
    signals: list[Event | SignalRow] = list(await store.reads.words(job_id, after=place.signal, limit=AT_ONCE))
    return list(heapq.merge(events, signals, key=lambda each: each.at_ms))


async def _follow(
    streams: Streams, store: Store, job_id: str, table: Lifecycle, place: StreamPlace
) -> AsyncGenerator[bytes]:
    with streams.follower():
        yield format_sse_event(retry=1_000, comment="holdfast", id=str(place))
        position, quiet_s = await streams.now(), 0.0
        while not streams.closing:
            # The job first: once it is over, what is read next is all that there is.
            job = await store.reads.get(job_id)
            news = await _news(store, job_id, place)
            for each in news:
                place = _behind(each, place)
                yield _message(each, place, table)
            if len(news) >= AT_ONCE:
                continue
            if job is None or RANK[job.state] >= OVER:
                yield _end(job, table, place)
                return
            quiet_s = 0.0 if news else quiet_s
            patience_s = HEAR_EVERY_S if job.state in LEASED else PING_EVERY_S
            moved, position = await streams.until_moved(job_id, position, patience_s)
            quiet_s += 0.0 if moved else patience_s
            if quiet_s >= PING_EVERY_S:
                quiet_s = 0.0
                yield format_sse_event(comment="ping", id=str(place))
        yield format_sse_event(comment="the server is going down: resume behind the last id")


def _behind(each: Event | SignalRow, place: StreamPlace) -> StreamPlace:
    return StreamPlace(each.seq, place.signal) if isinstance(each, Event) else StreamPlace(place.seq, each.id)


def _message(each: Event | SignalRow, place: StreamPlace, table: Lifecycle) -> bytes:
    if isinstance(each, Event):
        return _sse("transition", event_view(each, table), place)
    if each.type == LOG:
        return _sse("log", log_view(each), place)
    about = {"id": each.id, "at": iso(each.at_ms), "attempt": each.attempt, "actor": each.actor}
    return _sse("progress", about | json.loads(each.payload or "{}"), place)


def _end(job: Job | None, table: Lifecycle, place: StreamPlace) -> bytes:
    """The last word: how the job ended; null for one that was removed meanwhile."""
    state = None if job is None else job.state
    ending = {"state": state and label(table, state), "canonical_state": state}
    return _sse("end", ending, place._replace(ended=True))


def _sse(kind: str, data: dict[str, Any], place: StreamPlace) -> bytes:
    return format_sse_event(data_str=json.dumps(data, separators=(",", ":")), event=kind, id=str(place))
