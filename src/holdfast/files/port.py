"""The contract of a place for bytes. `holdfast.testing.files_conformance` holds every implementation to it."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Sequence
from typing import NamedTuple, Protocol


class Blob(NamedTuple):
    """Some bytes, by what they are: equal bytes are one blob, whoever put them, and however often."""

    digest: str
    """Their SHA-256, in hex."""
    size: int


class Files(Protocol):
    """Bytes by digest. They are put first and named by a row afterwards, within the grace of the sweep.

    Any number of processes may use one place at once. No call holds more than a few pieces of a blob in memory.
    Times are milliseconds since 1970, by the clock of the store that names the blobs.
    """

    async def put(self, data: AsyncIterable[bytes]) -> Blob:
        """Keep these bytes; when it returns they are safe, and as young as if nobody had put them before.

        One that is broken off, by an error of `data` or by the end of its process, leaves nothing that can be read.
        StoreError when the sweep has taken it for broken off.
        """
        ...

    def read(self, blob: Blob, start: int = 0) -> AsyncIterator[bytes]:
        """The bytes from `start` on, piece by piece; none from its end on. NotFoundError when the blob is gone."""
        ...

    async def idle(self, before_ms: int, after: str = "", limit: int = 1000) -> list[str]:
        """The digests of blobs that were last put before a time, in order, behind the digest `after`."""
        ...

    async def remove(self, digests: Sequence[str], before_ms: int) -> int:
        """Remove those of these blobs that were last put before a time; how many these were."""
        ...

    async def remove_broken(self, before_ms: int) -> int:
        """Remove what puts have left that went no further since a time; of how many."""
        ...
