"""A client of an engine's API, without a socket: requests run in the engine's own loop, as they do when it serves."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import httpx
from fastapi import FastAPI

from holdfast import Engine
from holdfast.api.app import create_app
from holdfast.api.settings import ApiSettings


class Client:
    """Blocking calls; `together` sends many at once."""

    def __init__(self, engine: Engine, app: FastAPI) -> None:
        self.engine = engine
        self.app = app
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        self._http = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:54322")

    def request(self, method: str, path: str, **how: Any) -> httpx.Response:
        return self.engine._inside.portal.call(self._http.request(method, path, **how), 60)

    def start(self, method: str, path: str, **how: Any) -> Future[httpx.Response]:
        return asyncio.run_coroutine_threadsafe(
            self._http.request(method, path, **how), self.engine._inside.portal.loop
        )

    def get(self, path: str, **how: Any) -> httpx.Response:
        return self.request("GET", path, **how)

    def post(self, path: str, body: Any = None, **how: Any) -> httpx.Response:
        return self.request("POST", path, **(how if body is None else {"json": body, **how}))

    def delete(self, path: str, **how: Any) -> httpx.Response:
        return self.request("DELETE", path, **how)

    def together(self, calls: Sequence[tuple[str, str, dict[str, Any]]]) -> list[httpx.Response]:
        async def all_of_them() -> list[httpx.Response]:
            return await asyncio.gather(*(self._http.request(method, path, **how) for method, path, how in calls))

        return self.engine._inside.portal.call(all_of_them(), 60)


def client_of(engine: Engine, **settings: Any) -> Client:
    return Client(engine, create_app(engine._inside, ApiSettings(**settings)))
