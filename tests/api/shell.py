"""The API in the engine's own loop, called without a socket."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from holdfast import Engine
from holdfast.api.access.keys import NewKey, make_key
from holdfast.api.access.keys import Scope as KeyScope
from holdfast.api.app import create_app
from holdfast.api.settings import ApiSettings

HERE = "http://127.0.0.1:54322"
OPEN_TO_ALL = "0.0.0.0"
"""Settings for it make keys necessary. Nothing is bound: these tests have no socket."""


def let_in(app: FastAPI) -> None:
    """Routes that a test has added are known at the doors from now on."""
    app.state.route_map.learn(app.routes)


class Shell:
    """An engine and its application; `ask` sends one request."""

    def __init__(self, engine: Engine, settings: ApiSettings | None = None) -> None:
        self.engine = engine
        self.settings = settings or ApiSettings()
        self.app = create_app(engine._inside, self.settings)

    def ask(
        self,
        method: str,
        path: str,
        *,
        key: str | None = None,
        headers: dict[str, str] | list[tuple[str, str]] | None = None,
        base: str = HERE,
        through: ASGIApp | None = None,
        **more: Any,
    ) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app=through or self.app)
            async with httpx.AsyncClient(transport=transport, base_url=base) as client:
                sent = httpx.Headers(headers)
                if key is not None:
                    sent["Authorization"] = f"Bearer {key}"
                return await client.request(method, path, headers=sent, **more)

        return self.engine._inside.portal.call(send(), 60)

    def key(self, scope: str = "read", *, lives_ms: int | None = None, name: str | None = None) -> NewKey:
        async def make() -> NewKey:
            store = await self.engine._inside.opened()
            return await make_key(store, name or scope, KeyScope(scope), lives_ms=lives_ms)

        return self.engine._inside.portal.call(make())


@contextmanager
def shell_on(url: str, settings: ApiSettings | None = None, **engine: Any) -> Iterator[Shell]:
    made = Engine(url, **engine)
    try:
        yield Shell(made, settings)
    finally:
        made.close()


async def nothing(scope: Scope, receive: Receive, send: Send) -> None:
    """What stands behind the doors when only the doors are tested."""
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})
