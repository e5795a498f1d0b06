"""Several processes at one place: they put the same at once, and one of them dies in the middle."""

import asyncio
import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.files.port import Blob
from holdfast.testing.files_conformance import EVER, MIB, is_gone, noise
from tests.files.places import DatabasePlace, FolderPlace

ROUNDS = 12


def start(place: FolderPlace | DatabasePlace, what: str) -> subprocess.Popen[str]:
    where = str(place.path) if isinstance(place, FolderPlace) else place.url
    words = [sys.executable, "-m", "tests.files.putting", where, what]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


async def test_who_dies_in_the_middle_leaves_nothing_that_can_be_read(place: FolderPlace | DatabasePlace) -> None:
    async with place.open() as files:
        empty = await place.kept()
        process = start(place, "half")
        assert await asyncio.to_thread(line, process) == "half"
        process.kill()
        process.communicate()
        assert await place.kept() > empty + MIB, "it had begun"
        assert await files.idle(EVER) == []
        data = noise(4 * MIB)
        assert await is_gone(files, Blob(hashlib.sha256(data).hexdigest(), len(data)))
        assert await files.remove_broken(0) == 0, "it may be under way"
        assert await files.remove_broken(EVER) == 1
        assert await place.kept() < empty + MIB


@pytest.mark.slow
async def test_many_put_the_same_while_it_is_swept(place: FolderPlace | DatabasePlace) -> None:
    """Whoever has put it can read it, however old it was: a put makes it young, and the sweep judges by its age."""
    async with place.open() as files:
        processes, removed = [start(place, "again") for _ in range(3)], 0
        try:
            for _ in range(ROUNDS):
                for process in processes:
                    assert process.stdin is not None
                    print("go", file=process.stdin, flush=True)
                before_ms = place.clock.now_ms + 1  # behind the last round; this one's puts are later
                for _ in range(5):
                    removed += await files.remove(await files.idle(before_ms), before_ms)
                answers = [await asyncio.to_thread(line, process) for process in processes]
                assert answers == ["whole"] * 3
                place.clock.now_ms += 1 << 40
        finally:
            for process in processes:
                process.communicate()
        assert removed > 0, "the sweep was never in the way"


@pytest.mark.slow
async def test_sixty_mebibytes_cost_a_few(tmp_path: Path) -> None:
    for place in (FolderPlace(tmp_path / "blobs"), DatabasePlace(f"sqlite:///{tmp_path / 'store.db'}")):
        async with place.open():
            process = start(place, "large")
            more_kib = int(await asyncio.to_thread(line, process))
            process.communicate()
        assert more_kib < 12 * 1024, f"{more_kib} KiB more at its height"
