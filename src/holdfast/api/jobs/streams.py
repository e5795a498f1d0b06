"""Streams of the log over HTTP: one follower per application, however many clients it has."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.sse import format_sse_event

from holdfast.api.problems.kinds import Problem
from holdfast.runtime.inside import Inside
from holdfast.views.follower import Follower, Note, Piece
from holdfast.views.following import WantedEvents


class Streams(Follower):
    """Its follower, as server-sent events."""

    def __init__(self, engine: Inside, *, max_streams: int = 256, ring_events: int | None = None) -> None:
        super().__init__(engine.opened, _sse, ring_events=ring_events)
        self.max_streams = max_streams

    def check_room(self) -> None:
        if self.closing:
            raise Problem("too_busy", "the server is going down", headers={"Retry-After": "2"})
        if self.followers >= self.max_streams:
            detail = f"{self.max_streams} streams are open, and no more may be"
            raise Problem("too_busy", detail, headers={"Retry-After": "5"})

    async def stream(self, after: int, wanted: WantedEvents) -> AsyncGenerator[bytes]:
        """What is wanted of the log behind a position, as it is sent."""
        with self.follower():
            # With an id from the first byte on: who is cut before the first event resumes too.
            yield format_sse_event(retry=1_000, comment="holdfast", id=str(after))
            async with aclosing(self.follow(after, wanted)) as pieces:
                async for piece in pieces:
                    yield _as_sent(piece)


def _as_sent(piece: Piece) -> bytes:
    match piece.note:
        case None:
            return piece.text
        case Note.PING:
            # The position goes along: who wants little resumes here, not at the last event that it got.
            return format_sse_event(comment="ping", id=str(piece.position))
        case Note.SLOW:
            return format_sse_event(comment="too slow: the log ran ahead; resume behind the last id")
        case Note.DOWN:
            return format_sse_event(comment="the server is going down: resume behind the last id")


def _sse(position: int, document: dict[str, Any]) -> bytes:
    return format_sse_event(data_str=json.dumps(document, separators=(",", ":")), id=str(position))


def streams_of(request: Request) -> Streams:
    """The application's hub, made for the first who asks."""
    state = request.app.state
    streams: Streams | None = getattr(state, "hub", None)
    if streams is None:
        settings = getattr(state, "settings", None)
        streams = state.hub = Streams(state.engine, max_streams=settings.max_streams if settings else 256)
    return streams


StreamsDep = Annotated[Streams, Depends(streams_of)]
"""The hub of the application that serves the request."""
