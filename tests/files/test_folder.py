"""A folder's own: plain files, no link is followed, and what is not whole is put right."""

import asyncio
import fcntl
import os
from pathlib import Path

import pytest

from holdfast.files.folder import Folder
from holdfast.files.pieces import whole
from holdfast.kernel.errors import NotFoundError, StoreError
from holdfast.testing import MovableClock
from holdfast.testing.files_conformance import EVER, read_all


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "blobs"


@pytest.fixture
def files(path: Path) -> Folder:
    return Folder(path, MovableClock())


async def test_a_blob_is_a_plain_file_that_only_its_owner_reads(files: Folder, path: Path) -> None:
    blob = await files.put(whole(b"plain"))
    file = path / blob.digest[:2] / blob.digest
    assert file.read_bytes() == b"plain"
    assert file.stat().st_mode & 0o777 == 0o600
    assert list((path / "put").iterdir()) == []


async def test_no_link_is_followed(files: Folder, path: Path, tmp_path: Path) -> None:
    blob = await files.put(whole(b"mine"))
    file, secret = path / blob.digest[:2] / blob.digest, tmp_path / "secret"
    secret.write_bytes(b"evil")
    file.unlink()
    file.symlink_to(secret)
    with pytest.raises(StoreError, match="is a link"):
        await read_all(files, blob)
    assert await read_all(files, await files.put(whole(b"mine"))) == b"mine", "a put takes its place"
    assert secret.read_bytes() == b"evil"
    file.unlink()
    file.parent.rmdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    file.parent.symlink_to(elsewhere)
    with pytest.raises(StoreError, match="is a link"):
        await files.put(whole(b"mine"))
    assert list(elsewhere.iterdir()) == []


async def test_it_is_not_judged_while_it_is_put_again(files: Folder, path: Path) -> None:
    blob = await files.put(whole(b"mine"))
    with (path / "lock").open() as sweep:
        fcntl.flock(sweep, fcntl.LOCK_EX)
        put = asyncio.create_task(files.put(whole(b"mine")))
        assert await asyncio.wait([put], timeout=0.1) == (set(), {put})
        os.unlink(path / blob.digest[:2] / blob.digest)
    assert await read_all(files, await put) == b"mine"


async def test_one_that_was_cut_off_is_said_to_be_and_put_right(files: Folder, path: Path) -> None:
    blob = await files.put(whole(b"0123456789"))
    os.truncate(path / blob.digest[:2] / blob.digest, 4)
    with pytest.raises(StoreError, match="ends after 4 bytes"):
        await read_all(files, blob)
    assert await read_all(files, await files.put(whole(b"0123456789"))) == b"0123456789"


async def test_what_others_leave_there_stays(files: Folder, path: Path) -> None:
    await files.put(whole(b"mine"))
    (path / "README").write_text("theirs")
    (path / "ab").mkdir(exist_ok=True)
    (path / "ab" / "notes.txt").write_text("theirs")
    assert len(await files.idle(EVER)) == 1
    assert await files.remove(["notes.txt", "../README", "README"], EVER) == 0
    assert await files.remove_broken(EVER) == 0
    assert (path / "README").exists()


async def test_a_folder_that_is_not_there_has_nothing(files: Folder, path: Path) -> None:
    assert await files.idle(EVER) == []
    assert await files.remove(["0" * 64], EVER) == 0
    assert await files.remove_broken(EVER) == 0
    assert not await asyncio.to_thread(path.exists)
    blob = await files.put(whole(b""))
    assert await read_all(files, blob) == b""
    with pytest.raises(NotFoundError, match="it is not in"):
        await read_all(files, blob._replace(digest="0" * 64, size=1))
