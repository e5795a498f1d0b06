"""What a store holds after a test, and everything that is wrong with it."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from holdfast.kernel.event import Event
from holdfast.kernel.job import Job
from holdfast.kernel.proof.invariants import Inspector
from holdfast.store.port import Store
from tests.load.sites import Site

CLAIMS = ("job_claimed", "job_taken_over")


class Proof(NamedTuple):
    """All jobs, all their events, and every breach of an invariant as one line."""

    jobs: dict[str, Job]
    events: dict[str, list[Event]]
    wrong: list[str]

    @property
    def states(self) -> Counter[str]:
        return Counter(job.state for job in self.jobs.values())

    def all_of(self, *types: str) -> list[Event]:
        return [event for events in self.events.values() for event in events if event.type in types]

    def granted(self) -> dict[tuple[str, int], str]:
        """(job, attempt) → the owner that the events say it was granted to."""
        return {(event.job_id, event.attempt): event.actor for event in self.all_of(*CLAIMS)}


async def prove(store: Store) -> Proof:
    jobs = {job.id: job async for batch in store.reads.all_jobs() for job in batch}
    events: dict[str, list[Event]] = defaultdict(list)
    async for batch in store.reads.all_events():
        for event in batch:
            events[event.job_id].append(event)
    inspector = Inspector(await store.reads.lifecycles())
    wrong = [str(breach) for job_id in {**jobs, **events} for breach in inspector.job(jobs.get(job_id), events[job_id])]
    wrong += [f"I11 key {name} is held twice" for name in await store.reads.live_keys_twice()]
    wrong += [f"I13 {job_id}: {what}" for job_id, what in await store.reads.dead_mismatches()]
    count, first = await store.reads.totals()
    if not len(jobs) == count == first:
        wrong.append(f"I8 {len(jobs)} jobs read, {count} counted, {first} submitted")
    transitions, logged = sum(job.version for job in jobs.values()), sum(map(len, events.values()))
    if transitions != logged:
        wrong.append(f"I3 {transitions} transitions, {logged} events")
    wrong += [f"I5 {name} is claimed {n} times" for name, n in twice(_fences(events))]
    wrong += [f"I8 {name} succeeded {n} times" for name, n in twice(_successes(events))]
    return Proof(jobs, dict(events), wrong)


async def proof_of(site: Site) -> Proof:
    store = site.open()
    try:
        return await prove(store)
    finally:
        await store.close()


async def audited(site: Site) -> tuple[int, list[str]]:
    """What the engine's own audit says: how many jobs it saw, and what is wrong with them."""
    from holdfast.audit.auditor import audit

    report = await audit(site.address, processes=False)
    return report.jobs, [str(violation) for violation in report.violations]


def twice(names: Iterable[object]) -> list[tuple[object, int]]:
    return [(name, n) for name, n in Counter(names).items() if n > 1]


def _fences(events: dict[str, list[Event]]) -> list[tuple[str, int]]:
    return [(e.job_id, e.attempt) for found in events.values() for e in found if e.type in CLAIMS]


def _successes(events: dict[str, list[Event]]) -> list[str]:
    return [e.job_id for found in events.values() for e in found if e.to_state == "succeeded"]
