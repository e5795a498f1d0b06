"""Changes that are asked for from outside: look, decide, apply, remember, in one transaction."""

from __future__ import annotations

import json
from collections.abc import Sequence

from holdfast.kernel.decisions import Along, Anew, AskOwner, Decide, Decision, Stands, Stay, WholeFlow
from holdfast.kernel.errors import BusyError, DuplicateKeyError, NotAllowedError, NotFoundError
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

TURNS = 3
"""How often jobs that were brought back by somebody else meanwhile are decided about."""


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
        self._left = self._ids
        self._moved: list[str] = []
        self._became: dict[str, Submitted] = {}
        self._refused: dict[str, Refused] = {}

    def script(self) -> Script[Facts]:
        """NotFoundError for a job that is not there; of several, those that refuse are left as they are."""
        now_ms = self._dialect.now()
        if now_ms is None:
            [(now_ms,)] = yield Query("clock", {"now_ms": None})
        for _ in range(TURNS):
            decisions: dict[str, tuple[Job, Decision]] = {}
            for stands in (yield from self._stand(now_ms)):
                try:
                    decisions[stands.job.id] = stands.job, self._decide(stands)
                except NotAllowedError as error:
                    if len(self._ids) == 1 and self._ask.op_id is None:
                        raise
                    self._refused[stands.job.id] = Refused.by(error)
            self._left = []
            yield from self._act(decisions, now_ms)
            if not self._left:
                done = Facts(became=self._became, moved=self._moved, refused=self._refused)
                made = [answer.job_id for answer in self._became.values()]
                return (yield from facts(self._dialect, done, [*self._ids, *made]))
        raise BusyError(f"job {self._left[0]} keeps moving")

    def _stand(self, now_ms: int) -> Script[list[Stands]]:
        """The jobs, and the flows of nodes, which are locked. A job is not: whoever moves it names the place it saw."""
        wanted = self._left
        flows = yield from lock(self._dialect, wanted)
        found = yield Query("get_many", {"ids": self._dialect.array(wanted)})
        jobs = {job.id: job for job in map(Job._make, found)}
        for job_id in wanted:
            if job_id not in jobs:
                missing = NotFoundError("job", job_id, "holdfast job list")
                if len(self._ids) == 1:
                    raise missing
                self._refused[job_id] = Refused(job_id, "", "missing", "", (), missing.message, missing.remedy)
            elif self._ask.versions is not None and jobs[job_id].version not in self._ask.versions:
                raise VersionError(job_id, jobs[job_id].version)
        tables = yield from self._known({job.lifecycle for job in jobs.values()})
        return [Stands(job, tables[job.lifecycle], flows.get(job.id), now_ms) for job in map(jobs.get, wanted) if job]

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

    def _act(self, decisions: dict[str, tuple[Job, Decision]], now_ms: int) -> Script[None]:
        dialect, ask = self._dialect, self._ask
        changes: dict[tuple[str, ...], Change] = {}
        asked: dict[str, list[Lease]] = {}
        for job, decision in decisions.values():
            match decision:
                case Along(path, move):
                    named = (job.lifecycle, *(row.command for row in path), path[0].source.value)
                    change = Change(self._admission.tables[job.lifecycle], path, ask.actor, [])
                    changes.setdefault(named, change).moves.append(move)
                case AskOwner(how):
                    asked.setdefault(how, []).append(Lease(job.id, job.attempt))
                case Anew(spec):
                    self._became[job.id] = yield from self._again(job, spec)
                case WholeFlow(command, reason, hard):
                    yield from self._flow(job.id, command, reason, hard, now_ms)
                case Stay():
                    continue
            self._moved.append(job.id)
        applied = yield from apply(dialect, list(changes.values()), self._admission, self.followed)
        # Nothing is locked but flows: whoever comes second finds the job gone from its place, and decides anew.
        for refusal in applied.refused:
            if refusal.why == "key":
                [(_, scope, key)] = yield Query("keys_of", {"ids": dialect.array([refusal.job_id])})
                [(holder,)] = yield Query("key_holder", {"scope": scope, "key": key})
                raise DuplicateKeyError(scope, key, holder)
            self._left.append(refusal.job_id)
            self._moved.remove(refusal.job_id)
        for change in changes.values():
            moves = [move for move in change.moves if move.job_id in applied.versions]
            self.followed.append(change._replace(moves=moves))
        for job, decision in decisions.values():
            if isinstance(decision, Along) and decision.discards:
                yield Query("discard_artifacts", {"job_id": job.id, "attempt": job.attempt})
        for how, leases in asked.items():
            yield Query("request_cancel", {**dialect.leases(leases), "mode": how})

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
