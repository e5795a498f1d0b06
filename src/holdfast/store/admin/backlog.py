"""How long one queue is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.store.script import Query, Script

if TYPE_CHECKING:
    from holdfast.store.sql_store import SqlStore


async def backlog(store: SqlStore, queue: str, cap: int) -> int:
    """How many due jobs wait in a queue, counted no further than the cap."""
    return await store.driver.read(_count(queue, await store.now_ms(), cap))


def _count(queue: str, now_ms: int, cap: int) -> Script[int]:
    [(count,)] = yield Query("backlog", {"queue": queue, "now_ms": now_ms, "cap": cap})
    return int(count)
