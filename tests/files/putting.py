"""A process that puts: `python -m tests.files.putting PLACE WHAT`."""

import asyncio
import os
import resource
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from holdfast.files.pieces import whole
from holdfast.files.port import Files
from holdfast.testing.files_conformance import MIB, noise, pieces_of, read_all
from tests.files.places import DatabasePlace, FolderPlace


async def half(files: Files) -> None:
    async def stops() -> AsyncIterator[bytes]:
        yield noise(2 * MIB)
        print("half", flush=True)
        await asyncio.to_thread(sys.stdin.read)

    await files.put(stops())


async def again(place: FolderPlace | DatabasePlace, files: Files) -> None:
    data = noise(MIB)
    for _ in sys.stdin:
        place.clock.now_ms += 1 << 40
        blob = await files.put(pieces_of(data, 300_000))
        print("whole" if await read_all(files, blob) == data else "torn", flush=True)


async def large(files: Files) -> None:
    async def sixty() -> AsyncIterator[bytes]:
        for n in range(60):
            yield os.urandom(MIB) if n % 2 else b"%d" % n * MIB

    await files.put(whole(b"whatever is loaded once"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    blob = await files.put(sixty())
    size = sum([len(piece) async for piece in files.read(blob)])
    assert size == blob.size > 60 * MIB
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, flush=True)


async def main(where: str, what: str) -> None:
    place = DatabasePlace(where) if "://" in where else FolderPlace(Path(where))
    async with place.open() as files:
        if what == "half":
            await half(files)
        elif what == "again":
            await again(place, files)
        else:
            await large(files)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
