"""A batch: what one claim took. Its members part ways, and whatever happens to one leaves the others as they were."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from holdfast.kernel.durable import DURABLE
from holdfast.kernel.event import Event
from holdfast.kernel.job import Job, Spec
from holdfast.kernel.move import Change, Move, move
from holdfast.kernel.proof.replay import replay
from holdfast.kernel.settle import lost as settle_lost
from holdfast.kernel.state import LEASED, OVER, Canonical
from holdfast.store.port import Applied, Filter, Lease, Refusal, Signal, Store
from holdfast.testing.store_conformance.pair import WORKER, Pair

RESULT = '{"result":1}'
"""The outcome of a job that `Pair.end` ended well."""
MANY = 1_000
ALL = 1_000_000
CLOSELY = 3
"""About so many members are looked at one by one too, each time others."""
SHARED = Event._fields.index("correlation_id")
"""So many fields an event has wherever it is read."""
Fields = Mapping[str, Any]
"""What becomes of columns: a value, or a function of the old value and the time."""
FREE: Fields = {"lease_owner": None, "lease_until_ms": None, "cancel_requested": None}


def now(_: Any, now_ms: int) -> int:
    return now_ms


def up(count: int, _: int) -> int:
    return count + 1


def in_ms(delay_ms: int) -> Callable[[Any, int], int]:
    return lambda _, now_ms: now_ms + delay_ms


def ended(state: str = "succeeded", **more: Any) -> Fields:
    """What the end of a job makes of it."""
    outcome = RESULT if state == "succeeded" else None
    over = {"state": state, "version": up, "changed_at_ms": now, "finished_at_ms": now, "outcome": outcome}
    return {**over, **FREE, **more}


def back(state: str = "queued", delay_ms: int = 0, **more: Any) -> Fields:
    """What the next attempt makes of a job that a worker had."""
    opened = {"state": state, "version": up, "attempt": up, "ready": True}
    return {**opened, **FREE, "changed_at_ms": now, "due_at_ms": in_ms(delay_ms), **more}


def lost(state: str = "queued", **more: Any) -> Fields:
    return back(state, losses=up, **more)


class MemberSeen(NamedTuple):
    """A job's row, and its events."""

    job: Job
    events: list[Event]


class Members:
    """Jobs as a claim gave them out, in the order of their ids, and what was seen of them at the last look."""

    def __init__(self, pair: Pair, jobs: Iterable[Job]) -> None:
        self.pair = pair
        self.jobs = sorted(jobs)
        self._seen: dict[str, MemberSeen] = {}
        self._looks = 0

    def __getitem__(self, number: int) -> Job:
        return self.jobs[number]

    def some(self, *numbers: int) -> list[Job]:
        return [self.jobs[number] for number in numbers]

    def leases(self, *numbers: int) -> list[Lease]:
        return [Lease(job.id, job.attempt) for job in self.some(*numbers)]

    def numbers(self, job_ids: Iterable[str]) -> list[int]:
        """Which members these are; the list is in the order of the ids that are given."""
        ids = [job.id for job in self.jobs]
        return [ids.index(job_id) for job_id in job_ids]

    def along(self, numbers: Iterable[int], *commands: str, owner: str | None = WORKER, **recorded: Any) -> Change:
        """A path of several commands for some of its members, as their worker writes it."""
        members = self.some(*numbers)
        table, state = self.pair.store.tables[members[0].lifecycle], members[0].state
        path = []
        for command in commands:
            path.append(table.row(state, command))
            state = path[-1].target
        moves = [Move(job.id, job.attempt, **recorded) for job in members]
        return Change(table, tuple(path), owner or "engine", moves, owner)

    async def do(self, command: str, *numbers: int, owner: str | None = WORKER, store: Store | None = None) -> Applied:
        """One command for some members, as the claim gave them out."""
        table = self.pair.store.tables[self.jobs[0].lifecycle]
        changes = move(table, self.some(*numbers), command, actor=owner or "engine", owner=owner)
        return await (store or self.pair.store).jobs.apply(changes)

    async def end(self, *numbers: int, store: Store | None = None, words: Iterable[Signal] = ()) -> Applied:
        """Members end well."""
        return await self.pair.end(*self.some(*numbers), store=store, words=list(words))

    def whys(self, refused: Iterable[Refusal]) -> dict[int, str]:
        """Why which member was refused."""
        return {self.numbers([refusal.job_id])[0]: refusal.why for refusal in refused}

    async def look(self) -> None:
        self._seen = await self._look()

    async def are(self, changes: Mapping[int, Fields], why: str = "") -> None:
        """Since the last look these members have changed in this, and all others in nothing."""
        now_ms, seen, self_now = await self.pair.store.now_ms(), self._seen, await self._look()
        for number, job in enumerate(self.jobs):
            before, after = seen[job.id], self_now[job.id]
            if number not in changes:
                assert after == before, f"member {number} has changed with others: {_between(before, after)}; {why}"
                continue
            wanted = before.job._replace(
                **{
                    name: value(getattr(before.job, name), now_ms) if callable(value) else value
                    for name, value in {"ready": False, **changes[number]}.items()
                }
            )
            assert after.job == wanted, f"member {number} is not as it should be: {_unlike(wanted, after.job)}; {why}"
            written = after.events[len(before.events) :]
            assert after.events[: len(before.events)] == before.events, f"the past of member {number} has changed"
            assert len(written) == wanted.version - before.job.version, f"member {number} has the events {written}"
        self._seen = self_now

    async def _look(self) -> dict[str, MemberSeen]:
        """Every way to read has to tell the same of each, and its events as much as its row."""
        self._looks += 1
        reads, ids = self.pair.other.reads, [job.id for job in self.jobs]
        rows = {job.id: job for job in await self.pair.store.reads.get_many(ids)}
        leased = {job.id: job for job in await self.pair.other.admin.queues.leases(limit=MANY)}
        stands = {stand.job_id: stand[1:] for stand in await self.pair.store.jobs.stand(ids)}
        told_of: dict[str, list[Event]] = {job_id: [] for job_id in ids}
        for event in await reads.log(0, ALL):
            told_of.get(event.job_id, []).append(event)
        for job_id, job in rows.items():
            assert (leased.get(job_id) == job) is (job.state in LEASED), f"among the leases is not what is held: {job}"
            stand = (job.state, job.attempt, job.cancel_requested)
            assert stands[job_id] == stand, f"its worker is told {stands[job_id]} of {job}"
            _agree(self.pair, job, told_of[job_id])
        for job_id in ids[self._looks % 2 :: 1 + len(ids) // CLOSELY]:
            bare = [event[:SHARED] for event in told_of[job_id]]
            assert [event[:SHARED] for event in await reads.events(job_id)] == bare, f"the log differs about {job_id}"
            assert await reads.get(job_id) == rows[job_id], f"reads differ about {rows[job_id]}"
        if self._looks % 2 == 0:
            await self._listed(rows)
        return {job_id: MemberSeen(rows[job_id], told_of[job_id]) for job_id in ids}

    async def _listed(self, rows: Mapping[str, Job]) -> None:
        reads = self.pair.other.reads
        for state in {job.state for job in rows.values()}:
            listed = {job.id: job for job in (await reads.list(Filter(states=(state,)), limit=MANY)).items}
            wanted = {job.id: job for job in rows.values() if job.state == state}
            found = {job_id: job for job_id, job in listed.items() if job_id in rows}
            assert found == wanted, f"a list of what is {state} holds other members, or as they are not"
        retained = {row.job_id: row[2:4] for row in await reads.retention_page("", MANY)}
        for job in rows.values():
            assert retained[job.id] == (job.state, job.finished_at_ms), (
                f"retention goes by {retained[job.id]} for {job}"
            )


def _agree(pair: Pair, job: Job, events: list[Event]) -> None:
    """The events tell the row, one for each version."""
    assert [event.seq for event in events] == list(range(1, job.version + 1)), f"of {job} there are {events}"
    assert sorted(event.pos for event in events) == [event.pos for event in events], f"out of order: {events}"
    told_by = replay(pair.store.tables[job.lifecycle], events)
    names = ("state", "attempt", "tries", "losses", "due_at_ms", "lease_owner", "changed_at_ms", "started_at_ms")
    for name in (*names, "finished_at_ms"):
        assert getattr(job, name) == getattr(told_by, name), f"{name} of {job} is not what its events tell: {events}"
    assert (job.finished_at_ms is None) is (Canonical(job.state).rank < OVER), f"it is over, or is not: {job}"


def _unlike(wanted: Job, found: Job) -> str:
    fields = zip(Job._fields, wanted, found, strict=True)
    return ", ".join(f"{name} is {is_now!r}, not {want!r}" for name, want, is_now in fields if want != is_now)


def _between(before: MemberSeen, after: MemberSeen) -> str:
    more = after.events[len(before.events) :]
    return f"{_unlike(before.job, after.job)}, with the events {more}"


async def batch_of(
    pair: Pair, specs: int | Iterable[Spec] = 3, *, owner: str = WORKER, start: bool = True, **fields: Any
) -> Members:
    """Jobs that one claim takes, all of those that wait: so many alike, or these."""
    wanted = [pair.spec(**fields) for _ in range(specs)] if isinstance(specs, int) else list(specs)
    await pair.store.jobs.submit(wanted)
    queues = {spec.queue for spec in wanted}
    jobs = await pair.store.jobs.claim(queues, MANY, owner, start=start)
    assert sorted(job.id for job in jobs) == sorted(spec.id for spec in wanted), "one claim takes all that wait"
    batch = Members(pair, jobs)
    await batch.look()
    assert batch.jobs == sorted(look.job for look in batch._seen.values()), "a claim gives out what is not so"
    return batch


async def rest_of(pair: Pair, *, owner: str = WORKER, start: bool = True, store: Store | None = None) -> Members:
    """All that waits, in as many claims as it takes: what came back may be found a moment later than what is new."""
    jobs: list[Job] = []
    while claimed := await (store or pair.store).jobs.claim(["default"], MANY, owner, start=start):
        jobs += claimed
    batch = Members(pair, jobs)
    await batch.look()
    return batch


async def reap(store: Store, jobs: list[Job]) -> int:
    """What the engine does about lost jobs, all in one call; how many of them it moved."""
    changes: dict[str, Change] = {}
    for job in jobs:
        path, move = settle_lost(DURABLE, job)
        changes.setdefault(path[0].command, Change(DURABLE, path, "reaper", [])).moves.append(move)
    return len((await store.jobs.apply(list(changes.values()))).versions)
