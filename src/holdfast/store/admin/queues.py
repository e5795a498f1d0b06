"""Queues and workers, in their tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holdfast.kernel.job import Job
from holdfast.kernel.limit import NamedLimit, limit_of
from holdfast.kernel.payload.encoding import plain
from holdfast.store.database import now_of
from holdfast.store.dialect import Lane
from holdfast.store.jobs.claiming import FIRST_GATE, LAST_GATE, lanes
from holdfast.store.port import CAP, Depth, LimitRow, Pause, WorkerRow
from holdfast.store.script import Query, Script, rows_of

if TYPE_CHECKING:
    from holdfast.store.database import Driver


class SqlQueues:
    """See `holdfast.store.port.Queues`."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def _rows(self, name: str, **params: Any) -> list[Any]:
        return await self._driver.read(rows_of(name, params))

    async def depths(self) -> dict[str, Depth]:
        now_ms = await now_of(self._driver)
        found: dict[str, Depth] = {}
        for lane, queued, due, oldest_ms in await self._driver.read(_lanes(now_ms)):
            known = found.get(lane.queue, Depth(lane.queue))
            times = [at_ms for at_ms in (known.oldest_due_ms, oldest_ms) if at_ms is not None]
            found[lane.queue] = known._replace(
                queued=known.queued + queued, due=known.due + due, oldest_due_ms=min(times, default=None)
            )
        for queue, leased in await self._rows("leased_by_queue"):
            found[queue] = found.get(queue, Depth(queue))._replace(leased=leased)
        return found

    async def pauses(self) -> dict[str, Pause]:
        return {row[0]: Pause(*row) for row in await self._rows("pauses")}

    async def pause(self, queue: str, reason: str | None = None) -> None:
        plain("queue", queue)
        plain("reason", reason or "")
        params = {"name": queue, "now_ms": await now_of(self._driver), "reason": reason}
        await self._driver.write(rows_of("pause", params), single=True)

    async def unpause(self, queue: str) -> bool:
        plain("queue", queue)
        return bool(await self._driver.write(rows_of("unpause", {"name": queue}), single=True))

    async def leases(self, *, limit: int = 100) -> list[Job]:
        return [Job._make(row) for row in await self._rows("leases", limit=limit)]

    async def leased_by_task(self) -> list[tuple[str, int]]:
        return [tuple(row) for row in await self._rows("leased_by_task")]

    async def backlog(self, queue: str, cap: int) -> int:
        params = {"queue": queue, "now_ms": await now_of(self._driver), "cap": cap}
        [(count,)] = await self._rows("backlog", **params)
        return int(count)

    async def lost(self) -> int:
        [(count,)] = await self._rows("lost_count", now_ms=await now_of(self._driver), cap=CAP)
        return int(count)

    async def ahead(self, job: Job) -> int:
        [(count,)] = await self._rows(
            "ahead",
            now_ms=await now_of(self._driver),
            queue=job.queue,
            id=job.id,
            cap=CAP,
        )
        return int(count)

    async def limit(self, job: Job) -> LimitRow | None:
        gate = limit_of(json.loads(job.options)) if job.options else None
        if gate is None:
            return None
        names = self._driver.dialect.array([gate.name])
        known = await self._rows("gates", names=names)
        held = dict(await self._rows("gates_held", names=names))
        next_us = known[0][4] if known else 0
        return LimitRow(NamedLimit(*known[0][:4]) if known else gate, held.get(gate.name, 0), next_us)

    async def claimed_at_ms(self, queue: str, since_ms: int) -> int | None:
        [(at_ms,)] = await self._rows("claimed_lately", queue=queue, since_ms=since_ms)
        return None if at_ms is None else int(at_ms)


class SqlWorkers:
    """See `holdfast.store.port.Workers`."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def seen(self, owner: str, queues: Mapping[str, int], concurrency: int, stats: Mapping[str, int]) -> None:
        params = {"owner": owner, "queues": json.dumps(queues), "concurrency": concurrency, "stats": json.dumps(stats)}
        params["now_ms"] = await now_of(self._driver)
        await self._driver.write(rows_of("worker_seen", params), single=True)

    async def gone(self, owner: str, forget_ms: int) -> None:
        params = {"owner": owner, "before_ms": await now_of(self._driver) - forget_ms}
        await self._driver.write(rows_of("worker_gone", params), single=True)

    async def list(self) -> list[WorkerRow]:
        return [
            WorkerRow(owner, _queues(queues), concurrency, started, seen, json.loads(stats) if stats else {})
            for owner, queues, concurrency, started, seen, stats in await self._driver.read(rows_of("workers"))
        ]


def _lanes(now_ms: int) -> Script[list[tuple[Lane, int, int, int]]]:
    found = []
    for lane in (yield from lanes()):
        # A lane that has gates stands for all of them; the oldest is looked for among as many heads as the cap says.
        gates = {"gate": FIRST_GATE, "last_gate": LAST_GATE, "heads": CAP}
        params = {**lane._asdict(), **(gates if lane.gate else {"last_gate": "", "heads": 1})}
        params |= {"now_ms": now_ms, "cap": CAP}
        [(queued, due, oldest_ms)] = yield Query("lane_depth", params)
        found.append((lane, queued, due, oldest_ms))
    return found


def _queues(text: str) -> tuple[str, ...]:
    """Queues are kept as JSON: a list of names, or names and weights."""
    names = json.loads(text)
    return tuple(str(queue) for queue in names)
