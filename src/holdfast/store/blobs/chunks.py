"""Blobs as chunks in the database's own tables: an embedded user has one file with everything in it.

A chunk is a transaction, so that no blob keeps other writers waiting, whatever its size.
"""

from __future__ import annotations

import asyncio
import hashlib
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from uuid_utils import uuid7

from holdfast.files.pieces import PIECE, even
from holdfast.files.port import Blob
from holdfast.kernel.errors import NotFoundError, StoreError
from holdfast.store.script import Query, Script, rows_of

if TYPE_CHECKING:
    from holdfast.store.database import Driver
    from holdfast.store.dialect import Dialect

WORTH = 0.9
"""Compressed chunks that are not smaller than this part of their bytes are kept as they are: they read faster."""
SAMPLE = 8 * 1024
"""What begins with as many bytes that do not shrink is not tried: that takes ten times as long as to keep it."""
QUICK = 16 * 1024
"""As many bytes as this are compressed at once; a thread would take longer to wake."""


class Chunk(NamedTuple):
    """A stretch of a blob, as it is kept: compressed where that pays, which its length says."""

    start: int
    size: int
    data: bytes


class Chunks:
    """See `holdfast.files.port.Files`."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def put(self, data: AsyncIterable[bytes]) -> Blob:
        put, digest, size = _Put(self._driver.dialect), hashlib.sha256(), 0
        last: Chunk | None = None
        try:
            async for piece in even(data):
                if last is not None:
                    await self._driver.write(put.go_on(last))
                digest.update(piece)
                last = Chunk(size, len(piece), await _packed(piece))
                size += len(piece)
            blob = Blob(digest.hexdigest(), size)
            await self._driver.write(put.end(last, blob))
            return blob
        except BaseException:
            if put.is_open:
                await asyncio.shield(self._driver.write(put.give_up()))
            raise

    async def read(self, blob: Blob, start: int = 0) -> AsyncIterator[bytes]:
        while start < blob.size:
            rows = await self._driver.read(rows_of("chunk", {"digest": blob.digest, "at": start}))
            if not rows:
                raise NotFoundError("blob", blob.digest, "it is not in this database: was its job removed?")
            chunk = Chunk(*rows[0])
            data = chunk.data if len(chunk.data) == chunk.size else await _unpacked(chunk)
            if not start - chunk.start < len(data):
                raise StoreError(f"blob {blob.digest} lacks what is behind {start} bytes", remedy="restore a backup")
            for at in range(start - chunk.start, len(data), PIECE):
                yield data[at : at + PIECE]
            start = chunk.start + len(data)

    async def idle(self, before_ms: int, after: str = "", limit: int = 1000) -> list[str]:
        params = {"before_ms": before_ms, "after": after, "limit": limit}
        return [row[0] for row in await self._driver.read(rows_of("idle_blobs", params))]

    async def remove(self, digests: Sequence[str], before_ms: int) -> int:
        dialect = self._driver.dialect
        params = {"digests": dialect.array(digests), "before_ms": before_ms}
        return await self._driver.write(_drop(dialect, Query("drop_blobs", params)))

    async def remove_broken(self, before_ms: int) -> int:
        query = Query("drop_broken_puts", {"before_ms": before_ms})
        return await self._driver.write(_drop(self._driver.dialect, query))


class _Put:
    """What a put writes. One of a single chunk is one transaction, and never under way."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._id = str(uuid7())
        self.is_open = False

    def _query(self, name: str, /, **params: Any) -> Query:
        return Query(name, {"put_id": self._id, "now_ms": self._dialect.now(), **params})

    def go_on(self, chunk: Chunk) -> Script[None]:
        if not (yield self._query("go_on_put" if self.is_open else "begin_put")):
            raise self._swept()
        yield self._query("add_chunk", **chunk._asdict())
        self.is_open = True

    def end(self, last: Chunk | None, blob: Blob) -> Script[None]:
        if self.is_open and not (yield self._query("end_put")):
            raise self._swept()
        [(kept,)] = yield self._query("keep_blob", **blob._asdict())
        if kept == self._id and last is not None:
            yield self._query("add_chunk", **last._asdict())
        elif self.is_open:
            yield Query("drop@chunk.put_id", {"ids": self._dialect.array([self._id])})

    def give_up(self) -> Script[int]:
        return _drop(self._dialect, self._query("end_put"))

    def _swept(self) -> StoreError:
        return StoreError("it was swept while it was put", remedy="put it again, faster")


def _drop(dialect: Dialect, query: Query) -> Script[int]:
    """Remove what a query removes, with the chunks of the puts that it answers with."""
    ids = [row[0] for row in (yield query)]
    if ids:
        yield Query("drop@chunk.put_id", {"ids": dialect.array(ids)})
    return len(ids)


async def _packed(piece: bytes) -> bytes:
    return _pack(piece) if len(piece) <= QUICK else await asyncio.to_thread(_pack, piece)


def _pack(piece: bytes) -> bytes:
    if len(piece) > SAMPLE and not _is_worth(piece[:SAMPLE], zlib.compress(piece[:SAMPLE], 1)):
        return piece
    packed = zlib.compress(piece, 1)
    return packed if _is_worth(piece, packed) else piece


def _is_worth(piece: bytes, packed: bytes) -> bool:
    return len(packed) < WORTH * len(piece)


async def _unpacked(chunk: Chunk) -> bytes:
    return await asyncio.to_thread(zlib.decompress, chunk.data, bufsize=chunk.size)
