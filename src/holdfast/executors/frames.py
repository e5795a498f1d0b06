"""What goes over the pipe between a worker and its processes: lists of plain values, each behind its length."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from typing import Any

import msgspec

LENGTH = struct.Struct("!I")
Frame = list[Any]


def pack(frame: Frame) -> bytes:
    body = msgspec.msgpack.encode(frame)
    return LENGTH.pack(len(body)) + body


def unpack(body: bytes) -> Frame:
    return msgspec.msgpack.decode(body, type=Frame)


async def read(reader: asyncio.StreamReader) -> Frame | None:
    """The next frame, or None when the other side is gone."""
    try:
        (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
        return unpack(await reader.readexactly(length))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


class Channel:
    """The process's side: blocking. Any thread may send; one thread receives."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._file = end.makefile("rb")
        self._lock = threading.Lock()

    def send(self, frame: Frame) -> None:
        with self._lock:
            self._end.sendall(pack(frame))

    def receive(self) -> Frame | None:
        head = self._file.read(LENGTH.size)
        if len(head) < LENGTH.size:
            return None
        (length,) = LENGTH.unpack(head)
        body = self._file.read(length)
        return unpack(body) if len(body) == length else None
