"""What an operator looks at and turns: queues, workers, leases."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.kernel.job import Job
from holdfast.kernel.limit import Gate, gate_of
from holdfast.store.dialect import Lane
from holdfast.store.jobs.admission import plain
from holdfast.store.jobs.claiming import FIRST_GATE, LAST_GATE, lanes
from holdfast.store.script import Query, Script

if TYPE_CHECKING:
    from holdfast.store.sql_store import SqlStore

CAP = 10_000
"""Jobs of a lane are counted no further: more than that is simply many."""


class WorkerRow(NamedTuple):
    """A worker as it last said of itself."""

    owner: str
    queues: tuple[str, ...]
    concurrency: int
    started_at_ms: int
    seen_at_ms: int
    stats: dict[str, Any]


class Pause(NamedTuple):
    """A queue that no worker claims from."""

    queue: str
    at_ms: int
    reason: str | None


class Depth(NamedTuple):
    """A queue's backlog. `queued` and `due` count up to CAP for each lane."""

    queue: str
    queued: int = 0
    due: int = 0
    leased: int = 0
    oldest_due_ms: int | None = None


class GateRow(NamedTuple):
    """A gate as it stands: what it lets through, what runs behind it, and when the next start is due."""

    gate: Gate
    held: int
    next_us: int

    def shut(self, now_ms: int) -> str | None:
        """Why it lets nothing through now; None when it does."""
        if self.gate.room(self.held, now_ms * 1_000, self.next_us) != 0:
            return None
        if self.gate.running is not None and self.held >= self.gate.running:
            return f"{self.held} of {self.gate.running} running"
        wait_us = self.gate.opens_us(now_ms * 1_000, self.next_us) - now_ms * 1_000
        return f"the next may start in {wait_us / 1_000_000:.1f} s"


class Operating:
    """Reads, and the pausing of queues."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store
        self._driver = store.driver

    async def _rows(self, name: str, **params: Any) -> list[Any]:
        return await self._driver.read(_one(Query(name, params)))

    async def workers(self) -> list[WorkerRow]:
        """Every worker that is on record, the last seen first."""
        return [
            WorkerRow(owner, _queues(queues), concurrency, started, seen, json.loads(stats) if stats else {})
            for owner, queues, concurrency, started, seen, stats in await self._rows("workers")
        ]

    async def depths(self) -> dict[str, Depth]:
        """The backlog of each queue that has one, or that somebody works on."""
        now_ms = await self._store.now_ms()
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
        """Let no worker claim from a queue. What runs goes on; one that is paused stays so since it was."""
        plain("queue", queue)
        plain("reason", reason or "")
        params = {"name": queue, "now_ms": await self._store.now_ms(), "reason": reason}
        await self._driver.write(_one(Query("pause", params)), single=True)

    async def unpause(self, queue: str) -> bool:
        """Whether it was paused."""
        plain("queue", queue)
        return bool(await self._driver.write(_one(Query("unpause", {"name": queue})), single=True))

    async def leases(self, *, limit: int = 100) -> list[Job]:
        """Jobs that somebody holds, the lease that ends first at the head."""
        return [Job._make(row) for row in await self._rows("leases", limit=limit)]

    async def lost(self) -> int:
        """How many leases have run out and were not taken back yet, counted up to CAP."""
        [(count,)] = await self._rows("lost_count", now_ms=await self._store.now_ms(), cap=CAP)
        return int(count)

    async def ahead(self, job: Job) -> int:
        """How many due jobs of its queue are claimed before this one, counted up to CAP."""
        [(count,)] = await self._rows(
            "ahead",
            now_ms=await self._store.now_ms(),
            queue=job.queue,
            id=job.id,
            cap=CAP,
        )
        return int(count)

    async def gate(self, job: Job) -> GateRow | None:
        """The gate that a job goes through, as it stands; None for one without a limit."""
        gate = gate_of(json.loads(job.options)) if job.options else None
        if gate is None:
            return None
        names = self._store.dialect.array([gate.name])
        known = await self._rows("gates", names=names)
        held = dict(await self._rows("gates_held", names=names))
        next_us = known[0][4] if known else 0
        return GateRow(Gate(*known[0][:4]) if known else gate, held.get(gate.name, 0), next_us)

    async def claimed_at_ms(self, queue: str, since_ms: int) -> int | None:
        """When a job of this queue was last started; None when none of the latest starts was of this queue."""
        [(at_ms,)] = await self._rows("claimed_lately", queue=queue, since_ms=since_ms)
        return None if at_ms is None else int(at_ms)


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
    said = json.loads(text)
    return tuple(str(queue) for queue in said)


def _one(query: Query) -> Script[list[Any]]:
    rows = yield query
    return rows
