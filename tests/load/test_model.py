"""Random histories, step by step against a model that is too simple to be wrong."""

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from holdfast.catalog import BUILT_IN
from holdfast.kernel.errors import DuplicateKeyError, NotAllowedError
from holdfast.kernel.job import Job, Spec
from holdfast.kernel.move import Change, Move, move
from holdfast.kernel.settle import Settled, expired, lost
from holdfast.store.port import Lease
from tests.load.conftest import postgres_site, sqlite_site
from tests.load.model import Model, Row
from tests.load.proof import prove
from tests.load.sites import Site, new_id
from tests.load.world import World
from tests.services.postgres import Server

SOAK = bool(os.environ.get("HOLDFAST_SOAK"))
QUEUES = ("a", "b")
OWNERS = ("one", "two")
WORKERS_DO = ("start", "succeed", "fail", "retry", "hand_back", "cancel", "skip", "compensate")
PEOPLE_DO = ("cancel", "resume", "resume_waiting", "release", "skip")
pick = st.integers(0, 30)


class Machine(RuleBasedStateMachine):
    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world
        world.begin()
        self.model = Model()
        self.model.now = world.now_ms
        self.seen: list[Job] = []  # jobs as they once were, for writes that come too late

    def done(self, work: Any) -> Any:
        return self.world.run(work)

    @property
    def store(self) -> Any:
        return self.world.store

    # What clients do.

    @rule(
        lifecycle=st.sampled_from(("durable", "workflow")),
        queue=st.sampled_from(QUEUES),
        priority=st.sampled_from((0, 0, 5, -3)),
        delay_ms=st.sampled_from((0, 0, 0, 500, 90_000)),
        expire_after_ms=st.sampled_from((None, None, 3_000)),
        lease_ms=st.sampled_from((1_000, 5_000)),
        max_tries=st.integers(1, 4),
        waiting=st.booleans(),
    )
    def submit(self, lifecycle: str, waiting: bool, **fields: Any) -> None:
        if lifecycle == "workflow" and waiting:
            fields["state"] = "waiting"
        spec = Spec(new_id(), lifecycle, "task", **fields)
        assert self.done(self.store.jobs.submit([spec])) == [(spec.id, True)]
        self.model.submit(spec.id, lifecycle, **fields)

    @rule(
        lifecycle=st.sampled_from(("durable", "workflow")),
        key=st.sampled_from("xy"),
        duplicates=st.sampled_from(("return", "reject", "replace")),
        queue=st.sampled_from(QUEUES),
    )
    def submit_under_a_key(self, lifecycle: str, key: str, duplicates: str, queue: str) -> None:
        spec = Spec(new_id(), lifecycle, "task", key=key, duplicates=duplicates, queue=queue, max_tries=3)
        holder = self.model.holder_of("task", key)
        if holder is not None and duplicates == "reject":
            with pytest.raises(DuplicateKeyError) as refused:
                self.done(self.store.jobs.submit([spec]))
            assert refused.value.job_id == holder
            return
        [(job_id, created)] = self.done(self.store.jobs.submit([spec]))
        if holder is not None and duplicates == "return":
            assert (job_id, created) == (holder, False)
            return
        assert (job_id, created) == (spec.id, True)
        if holder is not None:
            self.model.move(holder, "cancel", "client")
        fields = {"queue": queue, "max_tries": 3, "priority": 0, "lease_ms": spec.lease_ms}
        self.model.submit(spec.id, lifecycle, **fields)
        self.model.holders["task", key] = spec.id

    # What workers do.

    @rule(
        queues=st.sampled_from((["a"], ["b"], ["a", "b"])),
        limit=st.integers(1, 4),
        owner=st.sampled_from(OWNERS),
        start=st.booleans(),
        new=st.booleans(),
    )
    def claim(self, queues: list[str], limit: int, owner: str, start: bool, new: bool) -> None:
        store = self.world.newcomer() if new else self.store
        jobs: list[Job] = self.done(store.jobs.claim(queues, limit, owner, start=start))
        may = self.model.claimable(queues)
        if new:
            # Who has just looked takes all that it may: the most urgent, in each lane the longest due.
            assert len(jobs) == min(limit, len(may))
            wanted = [job["priority"] for job in may[: len(jobs)]]
            assert sorted((job.priority for job in jobs), reverse=True) == wanted
            taken = {job.id for job in jobs}
            for lane in {_lane(self.model.jobs[job.id]) for job in jobs}:
                ids = [job["id"] for job in may if _lane(job) == lane]
                count = len(taken.intersection(ids))
                assert taken.issuperset(ids[:count]), "not the longest due of its lane"
        else:
            # Who looked a while ago may take others first, but none that is not due, and never nothing.
            assert {job.id for job in jobs} <= {job["id"] for job in may}
            assert bool(jobs) == bool(may)
        for job in jobs:
            self.model.move(job.id, "claim", owner)
            if start and self.model.allows(job.lifecycle, self.model.jobs[job.id]["state"], "start"):
                self.model.move(job.id, "start", owner)
            self._same(job)
        self.seen += jobs

    @precondition(lambda self: self.seen)
    @rule(
        which=pick,
        command=st.sampled_from(WORKERS_DO),
        delay_ms=st.sampled_from((0, 0, 700)),
        outcome=st.sampled_from((None, '{"result":1}')),
        impostor=st.sampled_from((False, False, False, True)),
    )
    def worker(self, which: int, command: str, delay_ms: int, outcome: str | None, impostor: bool) -> None:
        job = self.seen[-1 - which % len(self.seen)]
        owner = job.lease_owner or "one"
        if command == "retry" and self.model.jobs[job.id]["tries"] >= job.max_tries:
            return  # a worker goes by the budget
        self._apply(job, command, "impostor" if impostor else owner, delay_ms=delay_ms, outcome=outcome, fenced=True)

    @precondition(lambda self: self.seen)
    @rule(which=pick, command=st.sampled_from(PEOPLE_DO))
    def person(self, which: int, command: str) -> None:
        job = self.seen[-1 - which % len(self.seen)]
        self._apply(job, command, "person", fenced=False)

    def _apply(
        self,
        job: Job,
        command: str,
        actor: str,
        *,
        fenced: bool,
        delay_ms: int = 0,
        outcome: str | None = None,
    ) -> None:
        table = BUILT_IN[job.lifecycle]
        if not self.model.allows(job.lifecycle, job.state, command):
            with pytest.raises(NotAllowedError):
                move(table, [job], command, actor=actor)
            return
        owner = actor if fenced else None
        path = (table.row(job.state, command),)
        said = f'{{"delay_ms":{delay_ms}}}' if delay_ms else None
        moves = [Move(job.id, job.attempt, delay_ms, payload=said, outcome=outcome)]
        applied = self.done(self.store.jobs.apply([Change(table, path, actor, moves, owner)]))
        why = self._key_is_gone(job, command) or self.model.refuses(job.id, job.attempt, job.state, owner)
        if why is None:
            self.model.move(job.id, command, actor, delay_ms=delay_ms, outcome=outcome)
            assert applied == ({job.id: self.model.jobs[job.id]["version"]}, [])
        else:
            assert applied.versions == {}
            assert [(no.job_id, no.why) for no in applied.refused] == [(job.id, why)]

    def _key_is_gone(self, job: Job, command: str) -> str | None:
        """A job that comes back to life takes its key again, unless another one lives under it."""
        if not job.key or not command.startswith("resume"):
            return None
        if self.model.holder_of("task", job.key) not in (None, job.id):
            return "key"
        self.model.holders["task", job.key] = job.id
        return None

    @precondition(lambda self: self.seen)
    @rule(which=pick, stranger=st.sampled_from((False, False, True)))
    def renew(self, which: int, stranger: bool) -> None:
        job = self.seen[-1 - which % len(self.seen)]
        owner = "stranger" if stranger else job.lease_owner or "one"
        gone = self.done(self.store.jobs.renew(owner, [Lease(job.id, job.attempt)]))
        now: Row = self.model.jobs[job.id]
        if now["attempt"] == job.attempt and now["lease_owner"] == owner and now["lease_until_ms"] > self.model.now:
            now["lease_until_ms"] = self.model.now + now["lease_ms"]
            assert gone == []
        else:
            assert gone == [job.id]

    @precondition(lambda self: self.seen)
    @rule(which=pick, mode=st.sampled_from(("soft", "hard")))
    def request_cancel(self, which: int, mode: str) -> None:
        job = self.seen[-1 - which % len(self.seen)]
        asked = self.done(self.store.jobs.request_cancel([Lease(job.id, job.attempt)], mode))
        now = self.model.jobs[job.id]
        if now["attempt"] == job.attempt and now["lease_owner"]:
            now["cancel_requested"] = "hard" if now["cancel_requested"] == "hard" else mode
            assert asked == [job.id]
        else:
            assert asked == []

    # What the engine does.

    @rule()
    def reap(self) -> None:
        jobs = self.done(self.store.upkeep.lost(100))
        assert {job.id for job in jobs} == self.model.lost()
        for job in jobs:
            self._settle(job, lost(BUILT_IN[job.lifecycle], job), self.model.end_of_lost(job.id))

    @rule()
    def expire(self) -> None:
        jobs = self.done(self.store.upkeep.expired(100))
        assert {job.id for job in jobs} == self.model.expired()
        for job in jobs:
            self._settle(job, expired(BUILT_IN[job.lifecycle], job), "expire")

    def _settle(self, job: Job, settled: Settled, command: str) -> None:
        change = Change(BUILT_IN[job.lifecycle], settled.path, "engine", [settled.move])
        applied = self.done(self.store.jobs.apply([change]))
        self.model.move(job.id, command, "engine", outcome=settled.move.outcome)
        assert applied == ({job.id: self.model.jobs[job.id]["version"]}, [])

    @rule(by_ms=st.sampled_from((1, 300, 999, 1_000, 5_000, 60_000, -400)))
    def time_passes(self, by_ms: int) -> None:
        """Mostly forward: clocks are set back, too."""
        self.world.now_ms += by_ms
        self.model.now = self.world.now_ms

    @precondition(lambda self: self.model.jobs)
    @rule(which=pick)
    def look(self, which: int) -> None:
        ids = list(self.model.jobs)
        self.seen.append(self.done(self.store.reads.get(ids[which % len(ids)])))

    # What must hold after every step, and at the end.

    @invariant()
    def the_store_is_as_the_model(self) -> None:
        if self.model.jobs:
            jobs = self.done(self.store.reads.get_many(list(self.model.jobs)))
            assert {job.id for job in jobs} == set(self.model.jobs)
            for job in jobs:
                self._same(job)

    @invariant()
    def keys_are_held_as_in_the_model(self) -> None:
        for (scope, key), job_id in self.model.holders.items():
            if self.model.holder_of(scope, key):
                assert self.done(self.store.reads.key_holder(scope, key)) == job_id

    def _same(self, job: Job) -> None:
        wanted = self.model.jobs[job.id]
        found = job._asdict()
        assert {name: found[name] for name in wanted} == wanted

    def teardown(self) -> None:
        proof = self.done(prove(self.store))
        assert proof.wrong == []
        told = {
            job_id: [(e.seq, e.type, e.from_state, e.to_state, e.at_ms, e.actor, e.attempt) for e in events]
            for job_id, events in proof.events.items()
        }
        assert told == self.model.events


def _lane(job: Row) -> tuple[Any, ...]:
    return job["queue"], job["lifecycle"], job["state"], job["priority"]


def _run(site: Site, examples: int, steps: int) -> None:
    with World(site) as world:
        run_state_machine_as_test(
            lambda: Machine(world),  # type: ignore[arg-type] # a factory will do
            settings=settings(
                max_examples=20_000 if SOAK else examples,
                stateful_step_count=100 if SOAK else steps,
                deadline=None,
                print_blob=True,
                suppress_health_check=list(HealthCheck),
            ),
        )


@pytest.mark.slow
@pytest.mark.rule("D02", "D04", "D05", "D07")
def test_sqlite_is_as_the_model(tmp_path: Any) -> None:
    _run(sqlite_site(tmp_path), examples=500, steps=50)


@pytest.mark.slow
@pytest.mark.rule("D02", "D04", "D05", "D07")
def test_postgres_is_as_the_model(wide_postgres: Server) -> None:
    _run(postgres_site(wide_postgres), examples=300, steps=50)
