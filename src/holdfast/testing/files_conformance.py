"""What every implementation of `holdfast.files.port.Files` has to do: checks that run on the real place.

Each of `CHECKS` is given a fresh `Place`, and fails with an AssertionError: parametrize a test by them.
"""

from __future__ import annotations

import asyncio
import hashlib
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from holdfast.files.pieces import PIECE, whole
from holdfast.files.port import Blob, Files
from holdfast.kernel.errors import NotFoundError, StoreError

EVER = 1 << 62
"""Later than everything that was put."""
MIB = 1024 * 1024
EDGES = (0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE)


class Place(Protocol):
    """An implementation under test, at one place that was empty at first."""

    def open(self) -> AbstractAsyncContextManager[Files]:
        """The place as one more process opens it."""

    async def kept(self) -> int:
        """How many bytes it takes by now, of blobs and of what was broken off, give or take what an empty one takes."""

    def pass_time(self) -> int:
        """Let time pass until it is later by the place's clock than all that was put; that time."""


Check = Callable[[Place], Awaitable[None]]


def noise(size: int, seed: int = 1) -> bytes:
    """Bytes that do not compress, the same in every run."""
    return hashlib.shake_128(b"%d" % seed).digest(size)


async def pieces_of(data: bytes, size: int) -> AsyncIterator[bytes]:
    for at in range(0, len(data), size):
        yield data[at : at + size]


async def read_all(files: Files, blob: Blob, start: int = 0) -> bytes:
    return b"".join([piece async for piece in files.read(blob, start)])


async def is_gone(files: Files, blob: Blob) -> bool:
    try:
        await read_all(files, blob)
    except NotFoundError:
        return True
    return False


async def what_was_put_comes_back(place: Place) -> None:
    async with place.open() as files:
        for size in EDGES:
            data = noise(size)
            blob = await files.put(whole(data))
            assert blob == Blob(hashlib.sha256(data).hexdigest(), size), f"the digest of {size} bytes"
            assert await read_all(files, blob) == data, f"{size} bytes came back otherwise"


async def pieces_of_any_size_make_the_same_blob(place: Place) -> None:
    data = noise(2 * PIECE + 7)
    async with place.open() as files:
        blobs = {await files.put(pieces_of(data, size)) for size in (1000, PIECE, PIECE + 1, len(data))}
        assert blobs == {Blob(hashlib.sha256(data).hexdigest(), len(data))}
        assert await read_all(files, blobs.pop()) == data


async def large_ones_come_back_piece_by_piece(place: Place) -> None:
    async with place.open() as files:
        for data in (noise(20 * MIB), b"the same line again and again\n" * (20 * MIB // 30)):
            blob = await files.put(pieces_of(data, MIB))
            digest, largest = hashlib.sha256(), 0
            async for piece in files.read(blob):
                digest.update(piece)
                largest = max(largest, len(piece))
            assert digest.hexdigest() == blob.digest
            assert largest <= 2 * MIB, "a piece must not be as large as the blob"


async def equal_bytes_are_one_blob(place: Place) -> None:
    data = noise(3 * MIB)
    async with place.open() as files, place.open() as other:
        first = await files.put(whole(data))
        once = await place.kept()
        assert await files.put(pieces_of(data, 1000)) == first
        assert await other.put(whole(data)) == first
        assert await place.kept() < once + MIB, "the same bytes are kept more than once"
        assert await files.idle(EVER) == [first.digest]


async def reading_begins_anywhere(place: Place) -> None:
    data = noise(2 * PIECE + 100) + zlib.decompress(zlib.compress(b"a" * PIECE))
    async with place.open() as files:
        blob = await files.put(whole(data))
        for start in (0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 99, len(data) - 1, len(data), len(data) + 1):
            assert await read_all(files, blob, start) == data[start:], f"from {start}"


async def what_is_not_there_is_not_found(place: Place) -> None:
    async with place.open() as files:
        for digest in (hashlib.sha256(b"never put").hexdigest(), "", "../x", "g" * 64):
            assert await is_gone(files, Blob(digest, 9)), f"{digest!r} was found"


async def a_broken_put_leaves_nothing(place: Place) -> None:
    data = noise(4 * MIB)

    async def breaks() -> AsyncIterator[bytes]:
        for at in range(0, 3 * MIB, MIB):
            yield data[at : at + MIB]
        raise ConnectionResetError("the sender is gone")

    async def hangs() -> AsyncIterator[bytes]:
        yield data[: 2 * MIB]
        reached.set()
        await asyncio.Event().wait()

    async with place.open() as files:
        empty = await place.kept()
        try:
            await files.put(breaks())
        except ConnectionResetError:
            pass
        else:
            raise AssertionError("the sender's error was kept from who put")
        reached = asyncio.Event()
        put = asyncio.create_task(files.put(hangs()))
        await reached.wait()
        put.cancel()
        await asyncio.gather(put, return_exceptions=True)
        assert put.cancelled()
        assert await files.idle(EVER) == []
        for size in (MIB, 2 * MIB, 3 * MIB):
            assert await is_gone(files, Blob(hashlib.sha256(data[:size]).hexdigest(), size))
        await files.remove_broken(place.pass_time())
        assert await place.kept() < empty + MIB, "what was broken off is still kept"
        assert await read_all(files, await files.put(whole(data))) == data, "and it can be put all the same"


async def a_put_under_way_is_not_swept(place: Place) -> None:
    data = noise(3 * MIB)

    async def swept_meanwhile() -> AsyncIterator[bytes]:
        before = place.pass_time()
        for at in range(0, len(data), MIB):
            yield data[at : at + MIB]
            place.pass_time()
            assert await files.remove_broken(before) == 0

    async with place.open() as files:
        assert await read_all(files, await files.put(swept_meanwhile())) == data


async def one_that_was_swept_under_way_is_refused(place: Place) -> None:
    async def too_slow() -> AsyncIterator[bytes]:
        for seed in range(4):
            yield noise(MIB, seed)
            await files.remove_broken(EVER)

    async with place.open() as files:
        empty = await place.kept()
        try:
            await files.put(too_slow())
        except StoreError:
            assert await files.idle(EVER) == []
            await files.remove_broken(EVER)
            assert await place.kept() < empty + MIB, "what it wrote after the sweep is kept for ever"
        else:
            raise AssertionError("a blob without its beginning was taken for whole")


async def many_may_put_the_same_at_once(place: Place) -> None:
    data = noise(2 * MIB)
    async with place.open() as files, place.open() as other:
        puts = [each.put(pieces_of(data, 100_000 + n)) for n, each in enumerate([files, other] * 3)]
        blobs = set(await asyncio.gather(*puts))
        assert len(blobs) == 1
        blob = blobs.pop()
        assert await read_all(files, blob) == await read_all(other, blob) == data
        assert await files.idle(EVER) == [blob.digest]
        await files.remove_broken(EVER)
        assert await place.kept() < 3 * MIB


async def idle_ones_are_listed_in_order(place: Place) -> None:
    async with place.open() as files:
        digests = sorted([(await files.put(whole(b"%d" % n))).digest for n in range(50)])
        later = place.pass_time()
        young = await files.put(whole(b"young"))
        assert await files.idle(later) == digests
        assert await files.idle(0) == []
        assert young.digest in await files.idle(EVER)
        first = await files.idle(later, limit=20)
        assert first == digests[:20]
        assert await files.idle(later, first[-1], limit=50) == digests[20:]


async def what_is_removed_is_gone(place: Place) -> None:
    async with place.open() as files:
        empty = await place.kept()
        blobs = [await files.put(whole(noise(size))) for size in (0, 10, 2 * MIB)]
        kept = await files.put(whole(b"kept"))
        gone = [blob.digest for blob in blobs]
        later = place.pass_time()
        assert await files.remove(gone, 0) == 0, "they are younger"
        assert await files.remove([*gone, hashlib.sha256(b"never put").hexdigest()], later) == 3
        assert await files.remove(gone, later) == 0, "they are gone already"
        assert await files.idle(EVER) == [kept.digest]
        assert [await is_gone(files, blob) for blob in blobs[1:]] == [True, True]
        assert await read_all(files, kept) == b"kept"
        assert await place.kept() < empty + MIB
        again = await files.put(whole(noise(2 * MIB)))
        assert await read_all(files, again) == noise(2 * MIB)


async def what_is_put_again_is_young_again(place: Place) -> None:
    async with place.open() as files:
        blob = await files.put(whole(b"twice"))
        later = place.pass_time()
        assert await files.idle(later) == [blob.digest]
        await files.put(whole(b"twice"))
        assert await files.idle(later) == []
        assert await files.remove([blob.digest], later) == 0
        assert await read_all(files, blob) == b"twice"


CHECKS: tuple[Check, ...] = (
    what_was_put_comes_back,
    pieces_of_any_size_make_the_same_blob,
    large_ones_come_back_piece_by_piece,
    equal_bytes_are_one_blob,
    reading_begins_anywhere,
    what_is_not_there_is_not_found,
    a_broken_put_leaves_nothing,
    a_put_under_way_is_not_swept,
    one_that_was_swept_under_way_is_refused,
    many_may_put_the_same_at_once,
    idle_ones_are_listed_in_order,
    what_is_removed_is_gone,
    what_is_put_again_is_young_again,
)
