"""What of the metrics is no count of events but how things stand, read when somebody asks."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.observe.metrics import Counts, Series
from holdfast.store.port import Store, WorkerRow
from holdfast.views.queues import living

Values = dict[tuple[str, ...], float]


async def read_gauges(store: Store, tally: Counts, workers: Sequence[WorkerRow]) -> dict[str, Series]:
    """Every gauge by its name. What had a series before and is empty now is told as 0, so that no line just ends."""
    now_ms = await store.now_ms()
    waiting, _ = await store.admin.dead.counts()
    return {
        "jobs_inflight": await _inflight(store, tally),
        **await _queues(store, tally, now_ms),
        "dead_letters": {(): waiting},
        "workers_alive": {(): len(living(workers, now_ms))},
    }


async def _inflight(store: Store, tally: Counts) -> Values:
    found: Values = {(kind,): 0 for kind in tally.types.known}
    for task, count in await store.admin.queues.leased_by_task():
        kind = (tally.types(task),)
        found[kind] = found.get(kind, 0) + count
    return found


async def _queues(store: Store, tally: Counts, now_ms: int) -> dict[str, Series]:
    empty: Values = {(name,): 0.0 for name in tally.queues.known}
    depth, due, age_s = dict(empty), dict(empty), dict(empty)
    for found in (await store.admin.queues.depths()).values():
        queue = (tally.queues(found.queue),)
        depth[queue] = depth.get(queue, 0) + found.queued
        due[queue] = due.get(queue, 0) + found.due
        waits = found.due and found.oldest_due_ms is not None
        waited_s = (now_ms - (found.oldest_due_ms or 0)) / 1_000 if waits else 0.0
        age_s[queue] = max(age_s.get(queue, 0.0), waited_s)
    return {"queue_depth": depth, "queue_due": due, "queue_oldest_due_age_seconds": age_s}
