"""Headers of every answer: what a browser may do with it, and the correlation that it belongs to."""

from __future__ import annotations

import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uuid_utils import uuid7

from holdfast.observe import traceparent

CORRELATION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/+=@-]{0,127}")
SECURITY = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Unless a route says otherwise of its own answer."""


class AnswerHeaders:
    """Gives a request its `state.correlation_id` and `state.trace_id`, and its answer the headers above."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        correlation_id = correlation_of(headers)
        place = traceparent.parse(headers.get("traceparent"))
        state = scope.setdefault("state", {})
        state["correlation_id"] = correlation_id
        state["trace_id"] = place.trace_id if place else None

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer = MutableHeaders(scope=message)
                for name, value in SECURITY.items():
                    answer.setdefault(name, value)
                answer["X-Correlation-Id"] = correlation_id
            await send(message)

        await self._app(scope, receive, send_with_headers)


def correlation_of(headers: Headers) -> str:
    """The caller's own, from X-Correlation-Id or X-Request-Id, where it is fit for logs and headers; else a new one."""
    for name in ("x-correlation-id", "x-request-id"):
        if CORRELATION.fullmatch(given := headers.get(name, "")):
            return given
    return str(uuid7())
