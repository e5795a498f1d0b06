"""A real server for tests, in the engine's own loop as `holdfast serve` runs it, and readers of its streams."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, NamedTuple

import httpx
import uvicorn
from fastapi import FastAPI

from holdfast import Engine
from holdfast.api.app import create_app
from holdfast.api.jobs.streams import Streams
from holdfast.api.settings import ApiSettings


def app_with_streams(engine: Engine, hub: Streams | None = None) -> FastAPI:
    """The whole application, with more places at its doors than its hub has."""
    app = create_app(engine._inside, ApiSettings(max_streams=10_000))
    app.state.hub = hub or Streams(engine._inside)
    return app


class Served(NamedTuple):
    url: str
    engine: Engine
    app: FastAPI
    server: uvicorn.Server

    @property
    def hub(self) -> Streams:
        hub: Streams = self.app.state.hub
        return hub


@contextmanager
def serving(engine: Engine, app: FastAPI, port: int = 0) -> Iterator[Served]:
    """The application on this machine, on a free port unless one is named."""
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(256)
        port = listening.getsockname()[1]
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=5, lifespan="on", access_log=False)
        server = uvicorn.Server(config)

        async def start() -> asyncio.Task[None]:
            task = asyncio.create_task(server.serve(sockets=[listening]))
            while not server.started:
                if task.done():
                    task.result()
                await asyncio.sleep(0.005)
            return task

        async def stop(task: asyncio.Task[None]) -> None:
            if hub := getattr(app.state, "hub", None):
                await hub.close()
            server.should_exit = True
            await task

        task = engine._inside.portal.call(start())
        try:
            yield Served(f"http://127.0.0.1:{port}", engine, app, server)
        finally:
            engine._inside.portal.call(stop(task))


class Message(NamedTuple):
    id: str | None
    event: str | None
    data: Any


class Reader:
    """Reads a stream as a browser does: knows the last id, its messages, and what was said in comments."""

    def __init__(self, response: httpx.Response) -> None:
        self.last_id: str | None = None
        self.comments: list[str] = []
        self._lines = response.aiter_lines()

    async def __aiter__(self) -> AsyncIterator[Message]:
        event: str | None = None
        data: list[str] = []
        async for line in self._lines:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if not line:
                if data:
                    yield Message(self.last_id, event, json.loads("\n".join(data)))
                event, data = None, []
            elif not name:
                self.comments.append(value)
            elif name == "id":
                self.last_id = value
            elif name == "event":
                event = value
            elif name == "data":
                data.append(value)

    async def take(self, count: int, timeout_s: float = 20.0) -> list[Message]:
        found: list[Message] = []
        async with asyncio.timeout(timeout_s):
            async for message in self:
                found.append(message)
                if len(found) == count:
                    break
        return found

    async def rest(self, timeout_s: float = 20.0) -> list[Message]:
        async with asyncio.timeout(timeout_s):
            return [message async for message in self]


@asynccontextmanager
async def reading(
    client: httpx.AsyncClient, path: str, last_id: str | None = None, **params: Any
) -> AsyncIterator[Reader]:
    headers = {} if last_id is None else {"Last-Event-ID": last_id}
    async with client.stream("GET", path, params=params, headers=headers) as response:
        assert response.status_code == 200, await response.aread()
        assert response.headers["content-type"].startswith("text/event-stream")
        reader = Reader(response)
        reader.last_id = last_id
        yield reader
