"""What `holdfast serve` and `holdfast dev` run: the API, and if asked a worker and the chores, in the engine's loop.

SIGTERM and SIGINT: no more connections, what is under way may end within the grace, exit 0. A second signal ends the
grace.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace

import uvicorn

from holdfast.api.app import create_app
from holdfast.api.health import metrics_of
from holdfast.api.settings import ApiSettings, is_loopback
from holdfast.chores.runner import Chores
from holdfast.config import ConfigError
from holdfast.observe.logs import get_logger
from holdfast.runtime.inside import Inside
from holdfast.runtime.serving import StopSignal
from holdfast.worker.weights import Queues
from holdfast.worker.worker import Worker

IDLE_CONNECTIONS = 512
"""Connections beyond the places: kept alive, or about to be told that all places are taken."""
BACKLOG = 1_024
LOOK_EVERY_S = 0.25

log = get_logger("holdfast.api")


@dataclass(frozen=True, kw_only=True)
class WorkerSettings:
    """What the worker of a server does."""

    queues: Queues | None = None
    concurrency: int = 10
    grace_s: float = 30.0


def serve(
    engine: Inside,
    settings: ApiSettings | None = None,
    *,
    worker: WorkerSettings | bool = False,
    chores: bool = True,
    ready: Callable[[str], None] | None = None,
) -> int:
    """Serve until told to stop; the exit code. Call it from the main thread. `ready` is told the address.

    `worker` is what to work on beside; True is every queue that a task of the engine goes to. ConfigError when the
    address cannot be had, or when it is open to others and there is no key yet.
    """
    work = WorkerSettings() if worker is True else worker or None
    stop = StopSignal()
    try:
        with stop.listening():
            service = Service(engine, settings or ApiSettings(), work, chores)
            url = engine.portal.call(service.start())
            if ready is not None:
                ready(url)
            while not stop.wait(LOOK_EVERY_S):
                if service.has_ended:
                    break
            failed = service.has_ended
            ending = asyncio.run_coroutine_threadsafe(service.stop(), engine.portal.loop)
            # Looks at both in turn: a signal's handler cannot run while this thread waits for a future alone.
            while not ending.done():
                if stop.wait(0.05):
                    engine.portal.loop.call_soon_threadsafe(service.hurry)
            ending.result()
            return 1 if failed else 0
    finally:
        engine.close()


class Service:
    """A server in the engine's loop, with what it was asked to run beside. `start`, then `stop`."""

    def __init__(
        self, engine: Inside, settings: ApiSettings, work: WorkerSettings | None = None, chores: bool = True
    ) -> None:
        self._engine = engine
        self._settings = settings
        self._work = work
        self._with_chores = chores
        self._worker: Worker | None = None
        self._chores: Chores | None = None

    async def start(self) -> str:
        """Where it listens, once it does."""
        store = await self._engine.opened()
        if self._settings.require_key and not await store.admin.keys.any_live():
            raise ConfigError(
                f"{self._settings.host} can be reached by others, and there is no key to keep them out",
                field="host",
                remedy="make one with `holdfast key create NAME --scope admin`, or listen on 127.0.0.1",
            )
        listening = await _listen(self._settings)
        settings = replace(self._settings, port=listening.getsockname()[1])
        self.app = create_app(self._engine, settings)
        self.server = Server(_config(self.app, settings))
        self._serving = asyncio.create_task(self.server.serve([listening]), name="holdfast-http")
        await self.server.is_up.wait()
        if self._work is not None:
            self._worker = Worker(self._engine, queues=self._work.queues, concurrency=self._work.concurrency)
            await self._worker.start()
        self._metrics = await metrics_of(self.app)
        await self._metrics.start()
        if self._with_chores:
            self._chores = Chores(store)
            self._chores.start()
        log.info("serving", url=settings.url, worker=self._worker is not None, chores=self._with_chores)
        return settings.url

    @property
    def has_ended(self) -> bool:
        return self._serving.done()

    async def stop(self) -> None:
        """No more connections; requests and jobs under way end within their grace."""
        log.info("stopping")
        self.server.should_exit = True
        if (hub := getattr(self.app.state, "hub", None)) is not None:
            await hub.close()
        if self._worker is not None and self._work is not None:
            await self._worker.stop(self._work.grace_s)
        if self._chores is not None:
            await self._chores.stop()
        await self._metrics.stop()
        await self._serving
        # What a hurried server left behind.
        left = list(self.server.server_state.tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def hurry(self) -> None:
        """End every grace."""
        self.server.force_exit = True
        if self._worker is not None:
            self._worker.hurry()


class Server(uvicorn.Server):
    """Says when it is up."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.is_up.set()


def _config(app: object, settings: ApiSettings) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type] # an ASGI application by another name
        lifespan="off",
        ws="none",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=settings.max_requests + settings.max_streams + IDLE_CONNECTIONS,
        timeout_graceful_shutdown=max(1, round(settings.grace_s)),
    )


async def _listen(settings: ApiSettings) -> socket.socket:
    host, port = settings.host, settings.port
    try:
        [(family, _, _, _, address), *_] = await asyncio.get_running_loop().getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        )
    except OSError as error:
        raise ConfigError(f"{host} is no address of this machine: {error}", field="host") from error
    if is_loopback(host) and not is_loopback(str(address[0])):
        raise ConfigError(
            f"{host} means {address[0]} here, which others can reach", field="host", remedy="use 127.0.0.1"
        )
    # Named as TCP, or asyncio does not know it as such and leaves Nagle's delay on: 40 ms an answer.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
        return listening
    except OSError as error:
        listening.close()
        message = f"cannot listen on {host} port {port}: {error.strerror or error}"
        raise ConfigError(message, field="port", remedy="stop what listens there, or say another --port") from error
