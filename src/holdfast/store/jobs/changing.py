"""Changes that are asked for from outside: lock, decide, apply, remember, in one transaction."""

from __future__ import annotations

import json
from collections.abc import Sequence

from holdfast.kernel.decisions import Along, Anew, AskOwner, Decide, Decision, Stands, Stay, WholeFlow
from holdfast.kernel.errors import NotAllowedError, NotFoundError
from holdfast.kernel.job import Job, Spec
from holdfast.kernel.lifecycle import Command, Lifecycle
from holdfast.kernel.move import Change
from holdfast.store.admin.dead import replay
from holdfast.store.dialect import Dialect
from holdfast.store.graph.advancing import lock
from holdfast.store.graph.cancelling import cancel_flow
from holdfast.store.graph.resuming import resume
from holdfast.store.jobs.admission import Admission, Tables
from holdfast.store.jobs.applying import apply
from holdfast.store.jobs.remembering import facts
from holdfast.store.jobs.submitting import submit
from holdfast.store.port import Ask, Facts, Lease, Refused, Submitted, VersionError
from holdfast.store.script import Query, Script


class Changing:
    """One change, as it is made. `tables` are all that there are; what it moved and made is here afterwards."""

    def __init__(self, dialect: Dialect, tables: Tables, job_ids: Sequence[str], decide: Decide, ask: Ask) -> None:
        self._dialect = dialect
        self._admission = Admission(tables)
        self._ids = list(dict.fromkeys(job_ids))
        self._decide = decide
        self._ask = ask
        self.followed: list[Change] = []
        self.made: list[Spec] = []
        self._refused: dict[str, Refused] = {}

    def script(self) -> Script[Facts]:
        """NotFoundError for a job that is not there; of several, those that refuse are left as they are."""
        now_ms = self._dialect.now()
        if now_ms is None:
            [(now_ms,)] = yield Query("clock", {"now_ms": None})
        decisions: dict[str, tuple[Job, Decision]] = {}
        for stands in (yield from self._stand(now_ms)):
            try:
                decisions[stands.job.id] = stands.job, self._decide(stands)
            except NotAllowedError as error:
                if len(self._ids) == 1 and self._ask.op_id is None:
                    raise
                self._refused[stands.job.id] = Refused.by(error)
        became = yield from self._act(decisions, now_ms)
        moved = [job_id for job_id, (_, decision) in decisions.items() if not isinstance(decision, Stay)]
        done = Facts(became=became, moved=moved, refused=self._refused)
        return (yield from facts(self._dialect, done, [*self._ids, *(made.job_id for made in became.values())]))

    def _stand(self, now_ms: int) -> Script[list[Stands]]:
        """The jobs, locked but for flows: these are locked before their jobs, by whoever changes them."""
        ids = self._dialect.array(self._ids)
        flows = yield from lock(self._dialect, self._ids)
        jobs = {job.id: job for job in map(Job._make, (yield Query("lock_jobs", {"ids": ids})))}
        if rest := [job_id for job_id in self._ids if job_id not in jobs]:
            found = yield Query("get_many", {"ids": self._dialect.array(rest)})
            jobs |= {job.id: job for job in map(Job._make, found)}
        for job_id in self._ids:
            if job_id not in jobs:
                missing = NotFoundError("job", job_id, "holdfast job list")
                if len(self._ids) == 1:
                    raise missing
                self._refused[job_id] = Refused(job_id, "", "missing", "", (), missing.message, missing.remedy)
            elif self._ask.versions is not None and jobs[job_id].version not in self._ask.versions:
                raise VersionError(job_id, jobs[job_id].version)
        tables = yield from self._known({job.lifecycle for job in jobs.values()})
        return [
            Stands(job, tables[job.lifecycle], flows.get(job.id), now_ms) for job in map(jobs.get, self._ids) if job
        ]

    @property
    def tables(self) -> Tables:
        return self._admission.tables

    def _known(self, names: set[str]) -> Script[Tables]:
        """Those that this process does not know are kept in the database."""
        known = self._admission.tables
        if names - known.keys():
            rows = yield Query("lifecycles")
            self._admission = Admission(
                {**{name: Lifecycle.from_dict(json.loads(text)) for name, text in rows}, **known}
            )
        return self._admission.tables

    def _act(self, decisions: dict[str, tuple[Job, Decision]], now_ms: int) -> Script[dict[str, Submitted]]:
        dialect, ask = self._dialect, self._ask
        changes: dict[tuple[str, ...], Change] = {}
        asked: dict[str, list[Lease]] = {}
        became: dict[str, Submitted] = {}
        for job, decision in decisions.values():
            match decision:
                case Along(path, move):
                    named = (job.lifecycle, *(row.command for row in path), path[0].source.value)
                    change = Change(self._admission.tables[job.lifecycle], path, ask.actor, [])
                    changes.setdefault(named, change).moves.append(move)
                case AskOwner(how):
                    asked.setdefault(how, []).append(Lease(job.id, job.attempt))
                case Anew(spec):
                    became[job.id] = yield from self._again(job, spec)
                case WholeFlow(command, reason, hard):
                    yield from self._flow(job.id, command, reason, hard, now_ms)
                case Stay():
                    pass
        if changes:
            applied = yield from apply(dialect, list(changes.values()), self._admission, self.followed)
            self.followed += [
                change._replace(moves=[move for move in change.moves if move.job_id in applied.versions])
                for change in changes.values()
            ]
        for job, decision in decisions.values():
            if isinstance(decision, Along) and decision.discards:
                yield Query("discard_artifacts", {"job_id": job.id, "attempt": job.attempt})
        for how, leases in asked.items():
            yield Query("request_cancel", {**dialect.leases(leases), "mode": how})
        return became

    def _again(self, job: Job, spec: Spec) -> Script[Submitted]:
        if job.state == "dead_lettered":
            answers = yield from replay(self._dialect, self._admission, {job.id: spec})
            answer = answers[job.id]
        else:
            [answer] = yield from submit(self._dialect, self._admission, [spec])
        if answer.created:
            self.made.append(spec)
        return answer

    def _flow(self, flow_id: str, command: str, reason: str, hard: bool, now_ms: int) -> Script[None]:
        actor = self._ask.actor
        if command == Command.CANCEL:
            yield from cancel_flow(self._dialect, flow_id, reason, self.followed, actor=actor, hard=hard)
        else:
            yield from resume(self._dialect, self._admission, flow_id, reason, actor, now_ms, self.followed)
