"""Bytes in pieces, so that none of them costs more memory than the others."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator

PIECE = 256 * 1024


async def whole(data: bytes) -> AsyncIterator[bytes]:
    """Bytes that are in memory anyway, as those that come piece by piece."""
    yield data


async def even(data: AsyncIterable[bytes], size: int = PIECE) -> AsyncIterator[bytes]:
    """The same bytes in pieces of one size; only the last is smaller."""
    held = bytearray()
    async for piece in data:
        at = 0
        while at < len(piece):
            until = at + size - len(held)
            held += memoryview(piece)[at:until]
            at = until
            if len(held) == size:
                yield bytes(held)
                held.clear()
    if held:
        yield bytes(held)
