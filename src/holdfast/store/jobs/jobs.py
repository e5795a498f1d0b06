"""A job's writes, from its submit to its end: each call a script, run as one transaction."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, TypeVar

from holdfast.kernel.decisions import Decide
from holdfast.kernel.errors import NotFoundError
from holdfast.kernel.job import Job, Spec, is_id
from holdfast.kernel.lifecycle import Command, Lifecycle
from holdfast.kernel.move import Change, effect_of
from holdfast.kernel.state import OVER
from holdfast.observe import tracing, transitions
from holdfast.store.database import Driver, is_there, now_of
from holdfast.store.jobs.admission import Admission
from holdfast.store.jobs.applying import apply, ends_nodes, once, pack_applied, unpack_applied
from holdfast.store.jobs.changing import Changing
from holdfast.store.jobs.claimer import Claimer
from holdfast.store.jobs.remembering import facts, remembered
from holdfast.store.jobs.submitting import submit
from holdfast.store.port import Applied, Ask, Facts, Lease, Signal, Stand, Submitted
from holdfast.store.read.reads import SqlReads
from holdfast.store.script import Many, Script, rows_of

T = TypeVar("T")
SIGNAL_TTL_MS = 86_400_000


class SqlJobs:
    """See `holdfast.store.port.Jobs`."""

    def __init__(self, driver: Driver, admission: Admission, reads: SqlReads) -> None:
        self._driver = driver
        self._dialect = driver.dialect
        self._tables = admission.tables
        self._admission = admission
        self._claimer = Claimer(driver, admission.tables, reads)

    async def submit(
        self, specs: Sequence[Spec], *, op_id: str | None = None, table: Lifecycle | None = None
    ) -> list[Submitted]:
        with tracing.send(specs) as sent:
            return await self._submit(sent, op_id, table) if sent else []

    async def _submit(self, specs: Sequence[Spec], op_id: str | None, table: Lifecycle | None) -> list[Submitted]:
        admission = self._admission if table is None else Admission({**self._tables, table.name: table})
        replaced: list[Change] = []
        ran = Ran()
        script = ran(submit(self._dialect, admission, specs, replaced))
        if op_id is not None:
            script = once(self._dialect, op_id, script, list, lambda rows: [Submitted(*row) for row in rows])
        single = op_id is None and all(spec.key is None for spec in specs)
        answers = await self._driver.write(script, single=single)
        if ran.has_run:
            transitions.applied(replaced, [move.job_id for change in replaced for move in change.moves])
            made = (spec for spec, answer in zip(specs, answers, strict=True) if answer.created)
            transitions.submitted((spec, admission.tables[spec.lifecycle].submit_event) for spec in made)
        return answers

    async def make(self, specs: Sequence[Spec], ask: Ask) -> Facts:
        replaced: list[Change] = []
        with tracing.send(specs) as sent:
            script = remembered(self._dialect, ask, self._make(sent, replaced))
            done = await self._driver.write(script)
        if not done.again:
            transitions.applied(replaced, [move.job_id for change in replaced for move in change.moves])
            made = (spec for spec, answer in zip(sent, done.made, strict=True) if answer.created)
            transitions.submitted((spec, self._tables[spec.lifecycle].submit_event) for spec in made)
        return done

    def _make(self, specs: Sequence[Spec], replaced: list[Change]) -> Script[Facts]:
        done = Facts(made=(yield from submit(self._dialect, self._admission, specs, replaced)))
        return (yield from facts(self._dialect, done, [done.one.job_id])) if len(specs) == 1 else done

    async def change(self, job_ids: Sequence[str], decide: Decide, ask: Ask) -> Facts:
        wanted = [job_id.strip().lower() for job_id in job_ids]
        if strange := [job_id for job_id in wanted if not is_id(job_id)]:
            raise NotFoundError("job", strange[0], "holdfast job list")
        changing = Changing(self._dialect, self._tables, wanted, decide, ask)
        done = await self._driver.write(remembered(self._dialect, ask, changing.script()))
        if not done.again:
            transitions.applied(changing.followed, [move.job_id for each in changing.followed for move in each.moves])
            transitions.submitted((spec, changing.tables[spec.lifecycle].submit_event) for spec in changing.made)
        return done

    async def claim(
        self, queues: Collection[str], limit: int, owner: str, *, start: bool = True, op_id: str | None = None
    ) -> list[Job]:
        if op_id is not None:
            return await self._claimer.claim_once(queues, limit, owner, start, op_id)
        return await self._claimer.claim(queues, limit, owner, start)

    @property
    def opens_in_s(self) -> float | None:
        return self._claimer.opens_in_s

    @property
    def limited(self) -> bool:
        return self._claimer.limited

    async def take_over(self, queues: Collection[str], limit: int, owner: str) -> list[Job]:
        jobs: list[Job] = []
        if not await is_there(self._driver, "lapsed", await now_of(self._driver)):
            return jobs
        for table in self._tables.values():
            for row in table.transitions:
                if row.command == Command.TAKE_OVER and len(jobs) < limit:
                    effect = effect_of(table, (row,))
                    script = self._dialect.take_over(
                        row, effect, table, list(queues), table.policies.crash_budget, limit - len(jobs), owner
                    )
                    taken = await self._driver.write(script)
                    transitions.claimed(taken, (row,), "lease_expired")
                    jobs += taken
        return jobs

    async def apply(
        self, changes: Sequence[Change], words: Sequence[Signal] = (), *, op_id: str | None = None
    ) -> Applied:
        if op_id is None and not words and _is_single(changes):
            [change] = changes
            script = self._dialect.at_once(change, effect_of(change.lifecycle, change.path))
            if script is not None:
                return await self._apply_at_once(change, script)
        return await self._apply_all(changes, words, op_id)

    async def _apply_at_once(self, change: Change, script: Script[dict[str, int]]) -> Applied:
        """One statement, without a transaction around it; what it does not move is looked for."""
        versions = await self._driver.write(script, single=True)
        transitions.applied([change], versions)
        if len(versions) == len(change.moves):
            return Applied(versions, [])
        left = [move for move in change.moves if move.job_id not in versions]
        applied = await self._apply_all([change._replace(moves=left)], (), None)
        return Applied(versions | applied.versions, applied.refused)

    async def _apply_all(self, changes: Sequence[Change], words: Sequence[Signal], op_id: str | None) -> Applied:
        ran = Ran()
        followed: list[Change] = []
        script = ran(self._apply(changes, words, followed))
        if op_id is not None:
            script = once(self._dialect, op_id, script, pack_applied, unpack_applied)
        applied = await self._driver.write(script)
        if ran.has_run:
            transitions.applied(changes, applied.versions)
            transitions.applied(followed, [move.job_id for change in followed for move in change.moves])
        return applied

    def _apply(self, changes: Sequence[Change], words: Sequence[Signal], followed: list[Change]) -> Script[Applied]:
        applied = yield from apply(self._dialect, changes, self._admission, followed)
        if kept := [word for word in words if word.job_id in applied.versions]:
            yield Many("signal", [self._dialect.signal_row(word, SIGNAL_TTL_MS) for word in kept])
        return applied

    async def renew(self, owner: str, leases: Sequence[Lease], *, beat: bool = True) -> list[str]:
        if not leases:
            return []
        kept = await self._driver.write(
            self._dialect.renew(owner, leases, beat, SIGNAL_TTL_MS), single=True, urgent=True
        )
        return [lease.job_id for lease in leases if lease.job_id not in kept]

    async def let_go(self, owner: str, leases: Sequence[Lease]) -> None:
        if leases:
            await self._driver.write(self._dialect.let_go(owner, leases), single=True, urgent=True)

    async def request_cancel(self, leases: Sequence[Lease], mode: str) -> list[str]:
        return await self._touch("request_cancel", leases, mode=mode)

    async def _touch(self, name: str, leases: Sequence[Lease], **params: Any) -> list[str]:
        if not leases:
            return []
        params |= self._dialect.leases(leases)
        rows = await self._driver.write(rows_of(name, params), single=True, urgent=True)
        return [row[0] for row in rows]

    async def stand(self, job_ids: Sequence[str]) -> list[Stand]:
        ids = self._dialect.array(job_ids)
        return [Stand(*row) for row in await self._driver.read(rows_of("heed", {"ids": ids}))]

    async def signal(self, signals: Sequence[Signal], *, ttl_ms: int = SIGNAL_TTL_MS) -> None:
        if signals:
            rows = [self._dialect.signal_row(signal, ttl_ms) for signal in signals]
            await self._driver.write(_many(Many("signal", rows)))


class Ran:
    """Whether a script ran here, or was answered as it was the first time."""

    has_run = False

    def __call__(self, script: Script[T]) -> Script[T]:
        result = yield from script
        self.has_run = True
        return result


def _is_single(changes: Sequence[Change]) -> bool:
    """A refused move needs no transaction with the rest of its change: the look that says why only reads."""
    if len(changes) != 1 or changes[0].path[0].source.rank >= OVER or ends_nodes(changes[0]):
        return False
    return not any(move.dead for move in changes[0].moves)


def _many(many: Many) -> Script[None]:
    yield many
