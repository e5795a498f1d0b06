"""Random histories, step by step against a model that is too simple to be wrong; most steps are about several jobs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from holdfast.catalog import BUILT_IN
from holdfast.kernel.decisions import cancel
from holdfast.kernel.errors import DuplicateKeyError, NotAllowedError
from holdfast.kernel.job import Job, Spec
from holdfast.kernel.lifecycle import Transition
from holdfast.kernel.move import Change, Move
from holdfast.kernel.settle import expired, lost
from holdfast.kernel.state import LEASED
from holdfast.store.port import Applied, Ask, Lease
from tests.load.model import SAYS_WHY, Model, Row
from tests.load.proof import prove
from tests.load.sites import Site, new_id
from tests.load.world import World

QUEUES = ("a", "b")
OWNERS = ("one", "two")
WORKERS_DO = ("start", "succeed", "fail", "retry", "hand_back", "cancel", "skip", "compensate")
PEOPLE_DO = ("cancel", "resume", "resume_waiting", "release", "skip")
ALL = 1_000

pick = st.integers(0, 30)
picks = st.lists(pick, min_size=1, max_size=6)
lifecycles = st.sampled_from(("durable", "durable", "workflow", "pipeline"))
terms = st.fixed_dictionaries(
    {
        "queue": st.sampled_from(QUEUES),
        "priority": st.sampled_from((0, 0, 5, -3)),
        "delay_ms": st.sampled_from((0, 0, 0, 500, 90_000)),
        "expire_after_ms": st.sampled_from((None, None, 3_000)),
        "lease_ms": st.sampled_from((1_000, 1_000, 5_000)),
        "max_tries": st.integers(1, 4),
    }
)
reports = st.fixed_dictionaries(
    {
        "which": picks,
        "late": st.sampled_from((False, False, True)),
        "how": st.integers(0, 20),
        "delay_ms": st.sampled_from((0, 0, 700)),
        "outcome": st.sampled_from((None, '{"result":1}')),
        "impostor": st.sampled_from((False, False, False, True)),
    }
)


class Machine(RuleBasedStateMachine):
    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world
        world.begin()
        self.model = Model()
        self.model.now = world.now_ms
        self.seen: list[Job] = []  # jobs as they once were, for writes that come too late
        self.held: list[Job] = []  # those that somebody has now, as they are
        self.events: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
        self.pos = 0

    def done(self, work: Any) -> Any:
        return self.world.run(work)

    @property
    def store(self) -> Any:
        return self.world.store

    def some(self, which: Iterable[int], late: bool = True) -> list[Job]:
        """Jobs as they once were, each once; or, where some are held, as these are now."""
        jobs = self.held if self.held and not late else self.seen
        return list({job.id: job for job in (jobs[-1 - number % len(jobs)] for number in which)}.values())

    @initialize(wishes=st.lists(st.tuples(lifecycles, terms), min_size=3, max_size=6), start=st.booleans())
    def begin(self, wishes: list[tuple[str, dict[str, Any]]], start: bool) -> None:
        self.submit(wishes, False)
        self.claim(["a", "b"], 8, "one", start, True)

    # What clients do.

    @rule(
        wishes=st.lists(st.tuples(lifecycles, terms), min_size=1, max_size=6),
        waiting=st.sampled_from((False, False, True)),
    )
    def submit(self, wishes: list[tuple[str, dict[str, Any]]], waiting: bool) -> None:
        specs = []
        for lifecycle, fields in wishes:
            state = "waiting" if lifecycle == "workflow" and waiting else "queued"
            specs.append(Spec(new_id(), lifecycle, "task", state=state, **fields))
            self.model.submit(specs[-1].id, lifecycle, state=state, **fields)
        assert self.done(self.store.jobs.submit(specs)) == [(spec.id, True) for spec in specs]

    @rule(
        lifecycle=lifecycles,
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
            self.model.move(holder, "cancel", "client", reason="replaced")
        fields = {"queue": queue, "max_tries": 3, "priority": 0, "lease_ms": spec.lease_ms, "key": key}
        self.model.submit(spec.id, lifecycle, **fields)
        self.model.holders["task", key] = spec.id

    # What workers do.

    @rule(
        queues=st.sampled_from((["a"], ["b"], ["a", "b"])),
        limit=st.sampled_from((1, 2, 3, 8)),
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

    @rule(queues=st.sampled_from((["a"], ["a", "b"])), limit=st.integers(1, 4), owner=st.sampled_from(OWNERS))
    def take_over(self, queues: list[str], limit: int, owner: str) -> None:
        may = {job_id for job_id in self.model.lapsed(taken_over=True) if self.model.jobs[job_id]["queue"] in queues}
        jobs: list[Job] = self.done(self.store.jobs.take_over(queues, limit, owner))
        assert ({job.id for job in jobs} <= may, len(jobs)) == (True, min(limit, len(may)))
        for job in jobs:
            self.model.move(job.id, "take_over", owner, reason="lease_expired")
            self._same(job)
        self.seen += jobs

    @precondition(lambda self: self.seen)
    @rule(parts=st.lists(reports, min_size=1, max_size=3), new=st.booleans())
    def report(self, parts: list[dict[str, Any]], new: bool) -> None:
        """One call about several jobs: each in its own way, some too late, twice, or by somebody else."""
        changes: list[Change] = []
        for part in parts:
            groups: dict[tuple[Any, ...], Change] = {}
            for number, job in enumerate(self.some(part["which"], part["late"])):
                table, owner = BUILT_IN[job.lifecycle], "impostor" if part["impostor"] else job.lease_owner or "one"
                path = _path(job, part["how"] + number // 2)
                if not path or (path[-1].command == "retry" and self.model.jobs[job.id]["tries"] >= job.max_tries):
                    continue  # a worker goes by the table, and by the budget
                change = groups.setdefault((owner, table.name, path), Change(table, path, owner, [], owner))
                delay_ms = part["delay_ms"] * (number % 2)
                payload = f'{{"delay_ms":{delay_ms}}}' if delay_ms else None
                recorded = {"reason": f"{number}", "payload": payload, "outcome": part["outcome"]}
                change.moves.append(Move(job.id, job.attempt, delay_ms, **recorded))
            changes += groups.values()
        if changes:
            self._apply(changes, self.world.newcomer() if new else self.store)

    @precondition(lambda self: self.seen)
    @rule(which=pick, command=st.sampled_from(PEOPLE_DO))
    def person(self, which: int, command: str) -> None:
        [job] = self.some([which])
        table = BUILT_IN[job.lifecycle]
        if row := table.find(job.state, command):
            self._apply([Change(table, (row,), "person", [Move(job.id, job.attempt)])], self.store)

    def _apply(self, changes: list[Change], store: Any) -> None:
        applied: Applied = self.done(store.jobs.apply(changes))
        versions: dict[str, int] = {}
        refused: list[tuple[str, str]] = []
        for change in changes:
            source = change.path[0].source.value
            for each in sorted(change.moves):
                key_is_gone = self._key_is_gone(each.job_id, change.path[0].command)
                why = key_is_gone or self.model.refuses(each.job_id, each.attempt, source, change.owner)
                if why is not None:
                    refused.append((each.job_id, why))
                    continue
                for row in change.path[:-1]:
                    self.model.move(each.job_id, row.command, change.actor, reason=each.reason)
                how: dict[str, Any] = {"delay_ms": each.delay_ms, "outcome": each.outcome, "reason": each.reason}
                self.model.move(each.job_id, change.path[-1].command, change.actor, payload=each.payload, **how)
                versions[each.job_id] = self.model.jobs[each.job_id]["version"]
        assert applied.versions == versions
        assert sorted((no.job_id, no.why) for no in applied.refused) == sorted(refused)

    def _key_is_gone(self, job_id: str, command: str) -> str | None:
        """A job that comes back to life takes its key again, unless another one lives under it."""
        key = self.model.jobs[job_id].get("key")
        if not key or not command.startswith("resume"):
            return None
        if self.model.holder_of("task", key) not in (None, job_id):
            return "key"
        self.model.holders["task", key] = job_id
        return None

    @precondition(lambda self: self.seen)
    @rule(which=picks, late=st.booleans(), stranger=st.sampled_from((False, False, True)), beat=st.booleans())
    def renew(self, which: list[int], late: bool, stranger: bool, beat: bool) -> None:
        jobs = self.some(which, late)
        owner = "stranger" if stranger else jobs[0].lease_owner or "one"
        gone = self.done(self.store.jobs.renew(owner, _leases(jobs), beat=beat))
        kept = [job for job in jobs if self.model.holds(job.id, job.attempt, owner)]
        for job in kept:
            self.model.jobs[job.id]["lease_until_ms"] = self.model.now + job.lease_ms
        assert gone == [job.id for job in jobs if job not in kept]

    @precondition(lambda self: self.seen)
    @rule(which=picks, late=st.booleans(), stranger=st.sampled_from((False, False, True)))
    def let_go(self, which: list[int], late: bool, stranger: bool) -> None:
        jobs = self.some(which, late)
        owner = "stranger" if stranger else jobs[0].lease_owner or "one"
        self.done(self.store.jobs.let_go(owner, _leases(jobs)))
        for job in jobs:
            if self.model.holds(job.id, job.attempt, owner):
                self.model.jobs[job.id]["lease_until_ms"] = self.model.now

    @precondition(lambda self: self.seen)
    @rule(which=picks, late=st.booleans(), text=st.sampled_from(("1", "2")))
    def keep(self, which: list[int], late: bool, text: str) -> None:
        """What a job keeps is under the fence that its end is under."""
        for job in self.some(which, late):
            owner = job.lease_owner or "one"
            kept = self.done(self.store.kept.keep_checkpoint(job.id, job.attempt, owner, text))
            assert kept is self.model.holds(job.id, job.attempt, owner)

    @precondition(lambda self: self.seen)
    @rule(which=picks, late=st.booleans(), mode=st.sampled_from(("soft", "hard")))
    def request_cancel(self, which: list[int], late: bool, mode: str) -> None:
        jobs = self.some(which, late)
        asked = self.done(self.store.jobs.request_cancel(_leases(jobs), mode))
        held = {(job["id"], job["attempt"]) for job in self.model.held()}
        reached = [job.id for job in jobs if (job.id, job.attempt) in held]
        for job_id in reached:
            self.model.ask_to_stop(job_id, mode)
        assert sorted(asked) == sorted(reached)

    @precondition(lambda self: self.model.jobs)
    @rule(which=picks, mode=st.sampled_from(("soft", "hard")))
    def cancel(self, which: list[int], mode: str) -> None:
        """As a person cancels: at once what nobody holds, and all that is to end hard."""
        ids = list(self.model.jobs)
        job_ids = sorted({ids[number % len(ids)] for number in which})
        may = [
            i
            for i in job_ids
            if self.model.allows(self.model.jobs[i]["lifecycle"], self.model.jobs[i]["state"], "cancel")
        ]
        if len(job_ids) == 1 and not may:
            with pytest.raises(NotAllowedError):
                self.done(self.store.jobs.change(job_ids, cancel("why", mode), Ask("ann")))
            return
        facts = self.done(self.store.jobs.change(job_ids, cancel("why", mode), Ask("ann")))
        assert (sorted(facts.moved), sorted(facts.refused)) == (may, [i for i in job_ids if i not in may])
        for job_id in may:
            job = self.model.jobs[job_id]
            if job["lease_owner"] and mode == "soft":
                self.model.ask_to_stop(job_id, "soft: why")
            else:
                outcome = '{"output_metadata":{"reason":"why"}}' if job["lifecycle"] in SAYS_WHY else None
                self.model.move(job_id, "cancel", "ann", reason="why", outcome=outcome)

    # What the engine does.

    @rule(twice=st.booleans(), limit=st.sampled_from((1, 3, 100)))
    def reap(self, twice: bool, limit: int) -> None:
        """Two may find the same, and each loss counts once."""
        jobs: list[Job] = self.done(self.store.upkeep.lost(limit))
        wanted = self.model.lapsed(taken_over=False)
        assert ({job.id for job in jobs} <= wanted, len(jobs)) == (True, min(limit, len(wanted)))
        for job in jobs:
            assert self.model.end_of_lost(job.id) == lost(BUILT_IN[job.lifecycle], job).path[0].command
            self._same(job)
        for _ in range(1 + twice):
            self._settle(jobs, lost)
        self.seen += jobs

    @rule()
    def expire(self) -> None:
        jobs = self.done(self.store.upkeep.expired(ALL))
        assert {job.id for job in jobs} == self.model.expired()
        self._settle(jobs, expired)

    def _settle(self, jobs: list[Job], decide: Any) -> None:
        changes: dict[Any, Change] = {}
        for job in jobs:
            table = BUILT_IN[job.lifecycle]
            path, settled = decide(table, job)
            changes.setdefault((table.name, path), Change(table, path, "engine", [])).moves.append(settled)
        if changes:
            self._apply(list(changes.values()), self.store)

    @rule(by_ms=st.sampled_from((1, 300, 999, 1_000, 5_000, 60_000, 7_200_000, -400)))
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
            held = self.done(self.store.admin.queues.leases(limit=ALL))
            assert sorted(held) == sorted(job for job in jobs if self.model.jobs[job.id]["lease_owner"])
            self.held = sorted(held)

    @invariant()
    def the_log_is_as_the_model(self) -> None:
        for event in self.done(self.store.reads.log(self.pos, ALL)):
            assert event.pos > self.pos
            self.pos = event.pos
            self.events[event.job_id].append(_facts(event))
        assert self.events == self.model.events

    @invariant()
    def keys_are_held_as_in_the_model(self) -> None:
        for (scope, key), job_id in self.model.holders.items():
            if self.model.holder_of(scope, key):
                assert self.done(self.store.reads.key_holder(scope, key)) == job_id

    def _same(self, job: Job) -> None:
        wanted: Row = self.model.jobs[job.id]
        found = job._asdict()
        assert {name: found[name] for name in wanted} == wanted

    def teardown(self) -> None:
        proof = self.done(prove(self.store))
        assert proof.wrong == []
        assert {job_id: list(map(_facts, events)) for job_id, events in proof.events.items()} == self.model.events


def _facts(event: Any) -> tuple[Any, ...]:
    return (*event[2:10], event.payload)


def _path(job: Job, how: int) -> tuple[Transition, ...]:
    """One of the ways on, of a step or two, from where the job was; none where there is none for a worker."""
    table = BUILT_IN[job.lifecycle]
    rows = [row for command in WORKERS_DO if (row := table.find(job.state, command))]
    starts = [row for row in rows if row.command == "start"]
    ways = [(row,) for row in rows] + [
        (start, row) for start in starts for command in WORKERS_DO if (row := table.find(start.target, command))
    ]
    return ways[how % len(ways)] if ways and job.state in LEASED else ()


def _leases(jobs: list[Job]) -> list[Lease]:
    return [Lease(job.id, job.attempt) for job in jobs]


def _lane(job: Row) -> tuple[Any, ...]:
    return job["queue"], job["lifecycle"], job["state"], job["priority"]


def compare(site: Site, examples: int, steps: int) -> None:
    """So many histories of so many steps, each on an empty store."""
    with World(site) as world:
        run_state_machine_as_test(
            lambda: Machine(world),  # type: ignore[arg-type] # a factory will do
            settings=settings(
                max_examples=examples,
                stateful_step_count=steps,
                deadline=None,
                print_blob=True,
                suppress_health_check=list(HealthCheck),
            ),
        )
