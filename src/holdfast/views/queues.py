"""Queues, workers and leases as the outside sees them, and the pausing of queues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from holdfast.kernel.job import Job
from holdfast.store.port import Depth, Pause, Store, WorkerRow
from holdfast.views.job import fields_of, iso

ALIVE_MS = 30_000
"""A worker that was not seen for longer is taken for gone."""


class Queue(NamedTuple):
    """A queue: its backlog, whether it is paused, and how many living workers serve it."""

    depth: Depth
    pause: Pause | None
    workers: int


async def queues(store: Store) -> list[Queue]:
    """Every queue that has jobs, a pause or a living worker, by name."""
    operating = store.admin.queues
    depths, pauses = await operating.depths(), await operating.pauses()
    alive = living(await store.admin.workers.list(), await store.now_ms())
    served = [queue for worker in alive for queue in worker.queues]
    names = sorted(depths.keys() | pauses.keys() | set(served))
    return [Queue(depths.get(name, Depth(name)), pauses.get(name), served.count(name)) for name in names]


def living(workers: Sequence[WorkerRow], now_ms: int) -> list[WorkerRow]:
    return [worker for worker in workers if is_alive(worker, now_ms)]


def is_alive(worker: WorkerRow, now_ms: int) -> bool:
    return now_ms - worker.seen_at_ms <= ALIVE_MS


def queue_view(queue: Queue) -> dict[str, Any]:
    pause = queue.pause
    return {
        "name": queue.depth.queue,
        "queued": queue.depth.queued,
        "due": queue.depth.due,
        "running": queue.depth.leased,
        "oldest_due_at": iso(queue.depth.oldest_due_ms) if queue.depth.due else None,
        "next_due_at": iso(queue.depth.oldest_due_ms),
        "workers": queue.workers,
        "paused": pause is not None,
        "paused_at": iso(pause.at_ms) if pause else None,
        "reason": pause.reason if pause else None,
    }


def worker_view(worker: WorkerRow, now_ms: int) -> dict[str, Any]:
    names = ("owner", "alive", "queues", "concurrency", "started_at", "seen_at", "stats")
    return fields_of(worker, *names, alive=is_alive(worker, now_ms), queues=list(worker.queues))


def lease_view(job: Job, now_ms: int) -> dict[str, Any]:
    until_ms = job.lease_until_ms or 0
    return {
        "job_id": job.id,
        "task": job.task,
        "queue": job.queue,
        "owner": job.lease_owner,
        "attempt": job.attempt,
        "started_at": iso(job.started_at_ms),
        "until": iso(until_ms),
        "seconds_left": round((until_ms - now_ms) / 1000, 1),
        "lost": until_ms <= now_ms,
        "cancel_requested": job.cancel_requested,
    }
