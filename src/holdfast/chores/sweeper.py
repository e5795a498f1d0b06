"""The sweeper: removes bytes that no row names, a grace after they were put."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.store.port import Store

GRACE_MS = 3_600_000
"""Who puts bytes names them within this time."""

PAGE = 1000
PAGES = 20


class Swept(NamedTuple):
    """What one run removed. `done` says that it reached the last blob: the next run starts over."""

    blobs: int
    broken: int
    done: bool


class Sweeper:
    """Walks all blobs by digest, a few pages a run, and goes on where the last run ended."""

    every_s = 60.0
    makes_work = False

    def __init__(self, store: Store) -> None:
        self._store = store
        self._after = ""

    async def run_once(self, now_ms: int | None = None) -> Swept:
        store = self._store
        before_ms = (await store.now_ms() if now_ms is None else now_ms) - GRACE_MS
        blobs, last = 0, False
        for _ in range(PAGES):
            page = await store.files.idle(before_ms, self._after, PAGE)
            last = len(page) < PAGE
            self._after = "" if last else page[-1]
            named = await store.upkeep.named_blobs(page) if page else set()
            if nobodys := [digest for digest in page if digest not in named]:
                blobs += await store.files.remove(nobodys, before_ms)
            if last:
                break
        return Swept(blobs, await store.files.remove_broken(before_ms), last)
