"""Jobs of all five lifecycles, led through everything that can happen to them."""

import json
from dataclasses import dataclass, field

from uuid_utils import uuid7

from holdfast.catalog import BUILT_IN
from holdfast.kernel.job import Failure, Job, Spec
from holdfast.kernel.move import Change, move
from holdfast.kernel.outcome import Done, Fail, Outcome, Partial, Retry, Skip
from holdfast.kernel.settle import expired, lost, settle
from holdfast.store.port import Store

START_MS = 1_794_000_000_000
HOUR_MS = 3_600_000
BROKEN = Failure("network_error", "transient", "no route to host", {"attempt": 1, "url": "http://ü"})


@dataclass
class Clock:
    now_ms: int = START_MS

    def __call__(self) -> int:
        return self.now_ms

    def pass_ms(self, ms: int) -> None:
        self.now_ms += ms


@dataclass
class Lives:
    """What a test does to jobs, each in a queue of its own name."""

    store: Store
    clock: Clock
    ids: dict[str, str] = field(default_factory=dict)

    async def submit(self, name: str, lifecycle: str = "durable", **spec: object) -> str:
        job_id = str(uuid7())
        self.ids[name] = job_id
        self.clock.pass_ms(10)
        await self.store.jobs.submit([Spec(job_id, lifecycle, f"task.{name}", queue=name, **spec)])  # type: ignore[arg-type]
        return job_id

    async def claim(self, name: str, owner: str = "worker-1") -> Job:
        self.clock.pass_ms(10)
        [job] = await self.store.jobs.claim([name], 1, owner)
        assert job.id == self.ids[name]
        return job

    async def end(self, job: Job, outcome: Outcome) -> None:
        self.clock.pass_ms(10)
        table = BUILT_IN[job.lifecycle]
        path, one = settle(table, job, outcome, chance=0.5)
        owner = job.lease_owner
        applied = await self.store.jobs.apply([Change(table, path, owner or "engine", [one], owner)])
        assert applied.refused == []

    async def do(self, name: str, command: str, *, reason: str | None = None, cause: str | None = None) -> None:
        """A command from outside: a person's or the engine's."""
        self.clock.pass_ms(10)
        job = await self.store.reads.get(self.ids[name])
        assert job is not None
        changes = move(BUILT_IN[job.lifecycle], [job], command, actor="person", reason=reason, cause=cause)
        assert (await self.store.jobs.apply(changes)).refused == []

    async def succeed(self, name: str) -> None:
        await self.end(await self.claim(name), Done('{"answer":42}'))

    async def lose(self, name: str) -> None:
        job = await self.claim(name)
        self.clock.pass_ms(job.lease_ms + 1)
        [gone] = [late for late in await self.store.upkeep.lost(10) if late.id == job.id]
        path, one = lost(BUILT_IN[job.lifecycle], gone)
        await self.store.jobs.apply([Change(BUILT_IN[job.lifecycle], path, "reaper", [one])])


async def durable(lives: Lives) -> None:
    # Every column of this one holds something: it is what is tampered with.
    await lives.submit(
        "rich",
        payload=json.dumps({"text": "größer"}),
        priority=3,
        max_tries=3,
        lease_ms=45_000,
        expire_after_ms=HOUR_MS,
        keep_until_ms=START_MS + HOUR_MS,
        key="order-7",
        correlation_id="cor-7",
        trace_id="trace-7",
        parent_id=str(uuid7()),
        tags='["a"]',
        options='{"timeout_ms":5}',
        reason="nightly",
        cause="schedule-1",
    )
    await lives.end(await lives.claim("rich"), Retry(BROKEN, 5_000))
    lives.clock.pass_ms(5_000)
    await lives.succeed("rich")
    await lives.submit("lost", max_tries=3)
    await lives.lose("lost")
    await lives.succeed("lost")
    await lives.submit("dead")
    await lives.end(await lives.claim("dead"), Fail(BROKEN, dead_reason="parse_error"))
    await lives.submit("crashed", max_tries=1)
    await lives.lose("crashed")
    await lives.submit("cancelled")
    await lives.do("cancelled", "cancel", reason="no longer wanted", cause="ticket-1")
    await lives.submit("handed_back", max_tries=2)
    held = await lives.claim("handed_back")
    back = move(BUILT_IN["durable"], [held], "hand_back", actor="worker-1", owner="worker-1", delay_ms=50)
    assert (await lives.store.jobs.apply(back)).refused == []
    await lives.submit("delayed", delay_ms=HOUR_MS)
    await lives.submit("dated", due_at_ms=START_MS + 9 * HOUR_MS)
    await lives.submit("at_work")
    await lives.claim("at_work")


async def others(lives: Lives) -> None:
    await lives.submit("crawl", "crawl", max_tries=7, key="crawl-1")
    await lives.end(await lives.claim("crawl"), Retry(BROKEN))
    lives.clock.pass_ms(10_000)
    await lives.lose("crawl")
    await lives.end(await lives.claim("crawl"), Done())
    await lives.submit("pipeline", "pipeline")
    job = await lives.claim("pipeline")
    lives.clock.pass_ms(job.lease_ms + 1)
    [taken] = await lives.store.jobs.take_over(["pipeline"], 1, "worker-2")
    await lives.end(taken, Partial('{"stages":2}', "one stage failed"))
    await lives.submit("stale", "pipeline")
    await lives.submit("node", "workflow", state="waiting", max_tries=3)
    await lives.do("node", "release")
    await lives.do("node", "cancel", reason="paused")
    await lives.do("node", "resume")
    await lives.succeed("node")
    await lives.submit("branch", "workflow")
    await lives.end(await lives.claim("branch"), Skip("branch_not_taken"))
    await lives.submit("late", "workflow", expire_after_ms=1_000)
    lives.clock.pass_ms(1_001)
    for job in await lives.store.upkeep.expired(10):
        table = BUILT_IN[job.lifecycle]
        path, one = expired(table, job)
        await lives.store.jobs.apply([Change(table, path, "expirer", [one])])
    await lives.submit("box", "sandbox", key="box-1")
    await lives.succeed("box")
    await lives.do("box", "clean")
    await lives.do("box", "cleaned")


async def live(store: Store, clock: Clock) -> Lives:
    lives = Lives(store, clock)
    await durable(lives)
    await others(lives)
    return lives
