"""The store that both databases share: the port's calls as scripts, run by a driver."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any, TypeVar

from holdfast.catalog import KNOWN
from holdfast.kernel.job import Job, Spec
from holdfast.kernel.lifecycle import Command, Lifecycle
from holdfast.kernel.move import Change, effect_of
from holdfast.kernel.policy import Lost
from holdfast.kernel.state import OVER
from holdfast.observe import tracing, transitions
from holdfast.store.database import Bell, Driver, Silence
from holdfast.store.graph.flows import Graphs
from holdfast.store.jobs.admission import Door
from holdfast.store.jobs.applying import apply, ends_nodes, once, pack_applied, unpack_applied
from holdfast.store.jobs.claimer import Claimer
from holdfast.store.jobs.kept import Kept
from holdfast.store.jobs.submitting import submit
from holdfast.store.migrate import migrate
from holdfast.store.port import Applied, Lease, Signal, Submitted
from holdfast.store.read.feed import FeedReader
from holdfast.store.read.reading import SqlReads, is_id
from holdfast.store.reads import PurgeRow, SealRow
from holdfast.store.script import Many, Query, Script
from holdfast.store.upkeep.partitions import wanted, week_of
from holdfast.store.upkeep.purging import drop_expired, prune, purge_payloads

T = TypeVar("T")
SIGNAL_TTL_MS = 86_400_000


class SqlStore:
    """See `holdfast.store.port.Store` for the contract of each call."""

    def __init__(self, driver: Driver, bell: Bell | None = None) -> None:
        self.driver = driver
        self.bell = bell or Silence()
        self.dialect = driver.dialect
        self.tables: dict[str, Lifecycle] = dict(KNOWN)
        self.reads = SqlReads(driver, self.tables)
        self.kept = Kept(driver)
        self.graphs = Graphs(self)
        self.claimer = Claimer(driver, self.tables, self.reads)
        self.door = Door(self.tables)

    async def migrate(self) -> list[str]:
        return await migrate(self.driver)

    async def close(self) -> None:
        await self.driver.close()

    async def now_ms(self) -> int:
        now = self.dialect.now()
        if now is not None:
            return now
        [(now_ms,)] = await self.driver.read(_one(Query("clock", {"now_ms": None})))
        return int(now_ms)

    async def register(self, lifecycle: Lifecycle) -> None:
        self.tables[lifecycle.name] = lifecycle
        self.door = Door(self.tables)
        definition = json.dumps(lifecycle.to_dict(), sort_keys=True)
        params = {"name": lifecycle.name, "definition": definition, "at_ms": await self.now_ms()}
        await self.driver.write(_one(Query("register_lifecycle", params)), single=True)

    async def submit(self, specs: Sequence[Spec], *, op_id: str | None = None) -> list[Submitted]:
        with tracing.send(specs) as sent:
            return await self._submit(sent, op_id) if sent else []

    async def _submit(self, specs: Sequence[Spec], op_id: str | None) -> list[Submitted]:
        replaced: list[Change] = []
        ran = Ran()
        script = ran(submit(self.dialect, self.door, specs, replaced))
        if op_id is not None:
            script = once(self.dialect, op_id, script, list, lambda rows: [Submitted(*row) for row in rows])
        single = op_id is None and all(spec.key is None for spec in specs)
        answers = await self.driver.write(script, single=single)
        if ran.here:
            transitions.applied(replaced, [move.job_id for change in replaced for move in change.moves])
            made = (spec for spec, answer in zip(specs, answers, strict=True) if answer.created)
            transitions.submitted((spec, self.tables[spec.lifecycle].submit_event) for spec in made)
        return answers

    async def claim(
        self, queues: Collection[str], limit: int, owner: str, *, start: bool = True, op_id: str | None = None
    ) -> list[Job]:
        if op_id is not None:
            return await self.claimer.claim_once(queues, limit, owner, start, op_id)
        return await self.claimer.claim(queues, limit, owner, start)

    async def take_over(self, queues: Collection[str], limit: int, owner: str) -> list[Job]:
        jobs: list[Job] = []
        if not await self._is_there("lapsed", await self.now_ms()):
            return jobs
        for table in self.tables.values():
            for row in table.transitions:
                if row.command == Command.TAKE_OVER and len(jobs) < limit:
                    effect = effect_of(table, (row,))
                    script = self.dialect.take_over(
                        row, effect, table.name, list(queues), table.policies.crash_budget, limit - len(jobs), owner
                    )
                    taken = await self.driver.write(script, single=True)
                    transitions.claimed(taken, (row,), "lease_expired")
                    jobs += taken
        return jobs

    async def apply(self, changes: Sequence[Change], *, op_id: str | None = None) -> Applied:
        ran = Ran()
        followed: list[Change] = []
        script = ran(apply(self.dialect, changes, self.door, followed))
        if op_id is not None:
            script = once(self.dialect, op_id, script, pack_applied, unpack_applied)
            applied = await self.driver.write(script)
        else:
            applied = await self.driver.write(script, single=_is_single(changes))
        if ran.here:
            transitions.applied(changes, applied.versions)
            transitions.applied(followed, [move.job_id for change in followed for move in change.moves])
        return applied

    async def renew(self, owner: str, leases: Sequence[Lease], *, beat: bool = True) -> list[str]:
        if not leases:
            return []
        kept = await self.driver.write(self.dialect.renew(owner, leases, beat, SIGNAL_TTL_MS), single=True, urgent=True)
        return [lease.job_id for lease in leases if lease.job_id not in kept]

    async def let_go(self, owner: str, leases: Sequence[Lease]) -> None:
        await self._touch("let_go", leases, owner=owner, now_ms=self.dialect.now())

    async def request_cancel(self, leases: Sequence[Lease], mode: str) -> list[str]:
        return await self._touch("request_cancel", leases, mode=mode)

    async def _touch(self, name: str, leases: Sequence[Lease], **params: Any) -> list[str]:
        if not leases:
            return []
        params |= self.dialect.leases(leases)
        rows = await self.driver.write(_one(Query(name, params)), single=True, urgent=True)
        return [row[0] for row in rows]

    async def lost(self, limit: int) -> list[Job]:
        taken_over = [
            f"{table.name}/{losses}"
            for table in self.tables.values()
            if table.policies.lost is Lost.TAKE_OVER
            for losses in range(table.policies.crash_budget - 1)
        ]
        params = {"now_ms": self.dialect.now(), "taken_over": self.dialect.array(taken_over), "limit": limit}
        rows = await self.driver.read(_one(Query("lost", params)))
        return [Job._make(row) for row in rows]

    async def expired(self, limit: int) -> list[Job]:
        expirable = [
            f"{table.name}/{row.source.value}"
            for table in self.tables.values()
            for row in table.transitions
            if row.command == Command.EXPIRE
        ]
        params = {"now_ms": self.dialect.now(), "expirable": self.dialect.array(expirable), "limit": limit}
        rows = await self.driver.read(_one(Query("expired", params)))
        return [Job._make(row) for row in rows]

    async def promote(self, now_ms: int, limit: int) -> int:
        if not await self._is_there("deadline_passed", now_ms):
            return 0
        return await self.driver.write(self.dialect.promote(now_ms, limit))

    async def _is_there(self, what: str, now_ms: int) -> bool:
        """A look before a write that mostly has nothing to do. A writer of SQLite that a handler keeps from the
        interpreter keeps all others waiting, renewals too: an idle worker had better not be one.
        """
        return bool(await self.driver.read(_one(Query(what, {"now_ms": now_ms}))))

    async def signal(self, signals: Sequence[Signal], *, ttl_ms: int = SIGNAL_TTL_MS) -> None:
        if signals:
            rows = [self.dialect.signal_row(signal, ttl_ms) for signal in signals]
            await self.driver.write(_many(Many("signal", rows)))

    async def add_seal(self, seal: SealRow) -> bool:
        rows = await self.driver.write(_one(Query("add_seal", seal._asdict())), single=True)
        return bool(rows)

    async def prune(self, job_ids: Sequence[str], now_ms: int | None = None) -> PurgeRow | None:
        at_ms = await self.now_ms() if now_ms is None else now_ms
        return await self.driver.write(prune(self.dialect, self.tables, _ids(job_ids), at_ms))

    async def purge_payloads(self, job_ids: Sequence[str], now_ms: int | None = None) -> PurgeRow | None:
        at_ms = await self.now_ms() if now_ms is None else now_ms
        return await self.driver.write(purge_payloads(self.dialect, _ids(job_ids), at_ms))

    async def drop_expired(self, limit: int, now_ms: int | None = None) -> tuple[int, int]:
        at_ms = await self.now_ms() if now_ms is None else now_ms
        return await self.driver.write(drop_expired(at_ms, limit))

    async def ensure_partitions(self, now_ms: int | None = None, weeks: int = 4) -> list[str]:
        if self.dialect.name == "sqlite":
            return []
        at_ms = await self.now_ms() if now_ms is None else now_ms
        have = {row[0] for row in await self.driver.read(_one(Query("partitions")))}
        missing = [week for week in wanted(at_ms, weeks) if week.name not in have]
        # One transaction each: the lock that it takes is held for a moment only.
        return [week.name for week in missing if await self._partition("add_partition", week._asdict())]

    async def drop_partitions(self, now_ms: int | None = None) -> list[str]:
        if self.dialect.name == "sqlite":
            return []
        this_week, _ = week_of(await self.now_ms() if now_ms is None else now_ms)
        names = [row[0] for row in await self.driver.read(_one(Query("partitions"))) if row[0] < this_week]
        return [name for name in names if await self._partition("drop_partition", {"name": name})]

    async def _partition(self, statement: str, params: dict[str, Any]) -> bool:
        [(done,)] = await self.driver.write(_one(Query(statement, params)), single=True)
        return bool(done)

    def feed(self, after: int = 0) -> FeedReader:
        return FeedReader(self.driver, after)


class Ran:
    """Whether a script ran here, or was answered as it was the first time."""

    here = False

    def __call__(self, script: Script[T]) -> Script[T]:
        result = yield from script
        self.here = True
        return result


def _ids(job_ids: Sequence[str]) -> list[str]:
    return [job_id for job_id in dict.fromkeys(job_ids) if is_id(job_id)]


def _is_single(changes: Sequence[Change]) -> bool:
    """A refused move needs no transaction with the rest of its change: the look that says why only reads."""
    if len(changes) != 1 or changes[0].path[0].source.rank >= OVER or ends_nodes(changes[0]):
        return False
    return not any(move.dead for move in changes[0].moves)


def _one(query: Query) -> Script[list[Any]]:
    rows = yield query
    return rows


def _many(many: Many) -> Script[None]:
    yield many
