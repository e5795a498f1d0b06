"""A TCP proxy that cuts connections where a test says: before a request or before its answer."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from enum import Enum
from typing import Any


class Cut(Enum):
    BEFORE = "the request never arrives"
    AFTER = "the request arrives and is answered, the answer does not"


Trigger = Callable[[bytes], bool]


class Proxy:
    """Passes bytes on, until `cut` arms it: the next chunk of a client that the trigger likes is the last."""

    def __init__(self, host: str, port: int) -> None:
        self._target = host, port
        self._armed: tuple[Trigger, Cut] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0
        self.cuts = 0

    def cut(self, how: Cut, trigger: Trigger) -> None:
        self._armed = trigger, how

    def disarm(self) -> None:
        self._armed = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        streams = [writer]
        try:
            server_reader, server_writer = await asyncio.open_connection(*self._target)
            streams.append(server_writer)
            answers = asyncio.create_task(_pump(server_reader, writer))
            try:
                await self._requests(reader, server_writer, answers, server_reader)
            finally:
                answers.cancel()
                with contextlib.suppress(asyncio.CancelledError, OSError):
                    await answers
        except (OSError, asyncio.CancelledError):
            pass  # a cut, by us or by an end of the line
        finally:
            for stream in streams:
                stream.transport.abort()

    async def _requests(
        self,
        client: asyncio.StreamReader,
        server: asyncio.StreamWriter,
        answers: "asyncio.Task[None]",
        server_reader: asyncio.StreamReader,
    ) -> None:
        """Pass on requests until the client leaves or the cut comes; answers go their own way."""
        while data := await client.read(1 << 16):
            armed = self._armed
            if armed is None or not armed[0](data):
                server.write(data)
                await server.drain()
                continue
            self._armed = None
            self.cuts += 1
            if armed[1] is Cut.AFTER:
                answers.cancel()
                await asyncio.wait([answers])
                server.write(data)
                await server_reader.read(1 << 16)
            return

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()
    writer.transport.abort()


@asynccontextmanager
async def running_proxy(host: str, port: int) -> AsyncIterator[Proxy]:
    proxy = Proxy(host, port)
    server: Any = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        await proxy.close()
        await server.wait_closed()
