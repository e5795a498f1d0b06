"""Blobs as the files of a folder, each called by its digest. They are plain: what they hold can be seen and served.

A blob is written under a name of its own, flushed, and only then renamed: whatever is found under a digest is whole.
No link is followed below the folder, so that whoever can write into it cannot lead us out of it.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import hashlib
import os
import re
import stat
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from holdfast.files.pieces import PIECE, even
from holdfast.files.port import Blob
from holdfast.kernel.errors import NotFoundError, StoreError

DIGEST = re.compile(r"[0-9a-f]{64}")
SHARD = re.compile(r"[0-9a-f]{2}")
BEING_PUT = "put"
LOCK = "lock"
MS = 1_000_000


class Folder:
    """See `holdfast.files.port.Files`. The folder is made when it is missing; it has to be on one file system."""

    def __init__(self, path: str | Path, clock: Callable[[], int]) -> None:
        self._path = Path(path)
        self._clock = clock

    async def put(self, data: AsyncIterable[bytes]) -> Blob:
        name, digest, size = token_hex(16), hashlib.sha256(), 0
        try:
            await asyncio.to_thread(self._begin, name)
            async for piece in even(data):
                await asyncio.to_thread(self._write, name, piece)
                digest.update(piece)
                size += len(piece)
            blob = Blob(digest.hexdigest(), size)
            await asyncio.to_thread(self._keep, name, blob)
            return blob
        finally:
            with suppress(FileNotFoundError):  # renamed: it is a blob by now
                os.unlink(self._path / BEING_PUT / name)

    def _begin(self, name: str) -> None:
        self._path.mkdir(parents=True, exist_ok=True)
        with self._shard(BEING_PUT, make=True) as folder:
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder))

    def _write(self, name: str, piece: bytes) -> None:
        """Opened for each piece: one left open would be closed by a cancelled call while a thread writes to it."""
        with self._shard(BEING_PUT) as folder, _being_put(name, folder) as file:
            left = memoryview(piece)
            while left:
                left = left[os.write(file, left) :]
            self._date(file)

    def _date(self, file: int) -> None:
        at_ns = self._clock() * MS
        os.utime(file, ns=(at_ns, at_ns))

    def _keep(self, name: str, blob: Blob) -> None:
        with self._shard(BEING_PUT) as source, self._shard(blob.digest[:2], make=True) as target:
            with _being_put(name, source) as file:
                self._date(file)
                os.fsync(file)
            with self._locked(fcntl.LOCK_SH):  # how old it is must not be judged meanwhile
                if self._is_whole(blob, target):
                    at_ns = self._clock() * MS
                    os.utime(blob.digest, ns=(at_ns, at_ns), dir_fd=target, follow_symlinks=False)
                else:
                    os.rename(name, blob.digest, src_dir_fd=source, dst_dir_fd=target)
            os.fsync(target)

    def _is_whole(self, blob: Blob, shard: int) -> bool:
        with suppress(FileNotFoundError):
            found = os.stat(blob.digest, dir_fd=shard, follow_symlinks=False)
            return stat.S_ISREG(found.st_mode) and found.st_size == blob.size
        return False

    async def read(self, blob: Blob, start: int = 0) -> AsyncIterator[bytes]:
        while start < blob.size:
            piece = await asyncio.to_thread(self._piece, blob, start)
            start += len(piece)
            yield piece

    def _piece(self, blob: Blob, start: int) -> bytes:
        if not DIGEST.fullmatch(blob.digest):
            raise NotFoundError("blob", blob.digest, "a digest has 64 characters, 0 to 9 and a to f")
        try:
            with self._shard(blob.digest[:2]) as shard, _opened(blob.digest, os.O_RDONLY, shard) as file:
                piece = os.pread(file, min(PIECE, blob.size - start), start)
        except FileNotFoundError:
            raise NotFoundError("blob", blob.digest, f"it is not in {self._path}") from None
        if not piece:
            raise StoreError(f"blob {blob.digest} ends after {start} bytes", remedy="restore a backup")
        return piece

    async def idle(self, before_ms: int, after: str = "", limit: int = 1000) -> list[str]:
        return await asyncio.to_thread(self._idle, before_ms, after, limit)

    def _idle(self, before_ms: int, after: str, limit: int) -> list[str]:
        found: list[str] = []
        for shard in self._shards():
            if shard < after[:2]:
                continue
            with self._shard(shard) as folder:
                for name in sorted(os.listdir(folder)):
                    if name > after and DIGEST.fullmatch(name) and self._is_older(name, folder, before_ms):
                        found.append(name)
            if len(found) >= limit:
                break
        return found[:limit]

    async def remove(self, digests: Sequence[str], before_ms: int) -> int:
        return await asyncio.to_thread(self._remove, [d for d in digests if DIGEST.fullmatch(d)], before_ms)

    def _remove(self, digests: Sequence[str], before_ms: int) -> int:
        removed = 0
        for digest in digests:
            with suppress(FileNotFoundError), self._shard(digest[:2]) as shard, self._locked(fcntl.LOCK_EX):
                if self._is_older(digest, shard, before_ms):
                    os.unlink(digest, dir_fd=shard)
                    removed += 1
        return removed

    async def remove_broken(self, before_ms: int) -> int:
        return await asyncio.to_thread(self._remove_broken, before_ms)

    def _remove_broken(self, before_ms: int) -> int:
        removed = 0
        with suppress(FileNotFoundError), self._shard(BEING_PUT) as folder:
            for name in os.listdir(folder):
                with suppress(FileNotFoundError):
                    if self._is_older(name, folder, before_ms):
                        os.unlink(name, dir_fd=folder)
                        removed += 1
        return removed

    def _is_older(self, name: str, folder: int, before_ms: int) -> bool:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        return found.st_mtime_ns < before_ms * MS

    def _shards(self) -> list[str]:
        with suppress(FileNotFoundError):
            return sorted(name for name in os.listdir(self._path) if SHARD.fullmatch(name))
        return []

    @contextmanager
    def _shard(self, name: str, *, make: bool = False) -> Iterator[int]:
        """One of the folder's own folders, open."""
        with _opened(self._path, os.O_RDONLY | os.O_DIRECTORY, None) as root:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=root)
                os.fsync(root)
            with _opened(name, os.O_RDONLY | os.O_DIRECTORY, root) as shard:
                yield shard

    @contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        """Held for a moment: who puts a blob again and who removes it for its age do not do so at once."""
        with _opened(self._path / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, None) as file:
            fcntl.flock(file, how)
            yield


@contextmanager
def _being_put(name: str, folder: int) -> Iterator[int]:
    try:
        with _opened(name, os.O_WRONLY | os.O_APPEND, folder) as file:
            yield file
    except FileNotFoundError as gone:
        raise StoreError("it was swept while it was put", remedy="put it again, faster") from gone


@contextmanager
def _opened(name: str | Path, flags: int, folder: int | None) -> Iterator[int]:
    """A file or folder, open. In a folder of ours a link is an error; a pipe keeps nobody waiting."""
    follow = 0 if folder is None else os.O_NOFOLLOW
    try:
        file = os.open(name, flags | follow | os.O_NONBLOCK, 0o600, dir_fd=folder)
    except OSError as error:
        if folder is not None and error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise StoreError(f"{name} is a link, or no folder", remedy="remove it: blobs are never links") from None
        raise
    try:
        yield file
    finally:
        os.close(file)
