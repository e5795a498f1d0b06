"""The request as the first part of a trace: what it submits, logs and calls belongs to it."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.observe import tracing

UNTOLD = frozenset({"/healthz", "/readyz", "/metrics"})
"""Asked every few seconds by machines: a trace of each would bury the others."""


def is_untold(scope: Scope) -> bool:
    return scope.get("path") in UNTOLD


class Tracing:
    """Goes on with the caller's `traceparent`, or starts a trace where spans are made.

    Stands behind what gives a request its correlation id and before the doors, which find its route's template.
    `state.trace_id` becomes that of its own span.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or is_untold(scope):
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        sent = Headers(scope=scope).get("traceparent")
        with tracing.request(scope["method"], scope["path"], sent, state.get("correlation_id")) as running:
            state["trace_id"] = running.trace_id

            async def send_and_tell(message: Message) -> None:
                if message["type"] == "http.response.start":
                    running.answered(message["status"], state.get("template"))
                await send(message)

            await self._app(scope, receive, send_and_tell)
