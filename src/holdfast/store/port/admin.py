"""What operators look at and turn: queues, workers, schedules, keys, dead letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from holdfast.kernel.job import Job, Spec
from holdfast.kernel.limit import NamedLimit
from holdfast.store.port.ask import Answers
from holdfast.store.port.dead import DeadLetters
from holdfast.store.port.jobs import Submitted

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


class LimitRow(NamedTuple):
    """A gate as it stands: what it lets through, what runs behind it, and when the next start is due."""

    limit: NamedLimit
    held: int
    next_us: int

    def shut(self, now_ms: int) -> str | None:
        """Why it lets nothing through now; None when it does."""
        if self.limit.room(self.held, now_ms * 1_000, self.next_us) != 0:
            return None
        if self.limit.running is not None and self.held >= self.limit.running:
            return f"{self.held} of {self.limit.running} running"
        wait_us = self.limit.opens_us(now_ms * 1_000, self.next_us) - now_ms * 1_000
        return f"the next may start in {wait_us / 1_000_000:.1f} s"


class ScheduleRow(NamedTuple):
    """One schedule. `args` is the payload of its jobs, `spec` the rest of what they are made from; both are JSON."""

    name: str
    task: str
    args: str
    cron: str
    timezone: str
    missed: str
    paused: bool
    last_tick_ms: int
    next_tick_ms: int
    spec: str


class KeyRow(NamedTuple):
    """One key. It opens nothing once it is revoked, or when its time is over."""

    id: str
    name: str
    hash: bytes
    scope: str
    created_at_ms: int
    expires_at_ms: int | None = None
    revoked_at_ms: int | None = None
    last_used_at_ms: int | None = None

    def is_live(self, now_ms: int) -> bool:
        return self.revoked_at_ms is None and (self.expires_at_ms is None or self.expires_at_ms > now_ms)


class Queues(Protocol):
    """Backlogs, limits and leases, and the pausing of queues."""

    async def depths(self) -> dict[str, Depth]:
        """The backlog of each queue that has one, or that somebody works on."""
        ...

    async def backlog(self, queue: str, cap: int) -> int:
        """How many due jobs wait in a queue, counted no further than the cap."""
        ...

    async def pauses(self) -> dict[str, Pause]: ...

    async def pause(self, queue: str, reason: str | None = None) -> None:
        """No worker is to claim from a queue: they look, a claim does not. One that is paused stays so since it was."""
        ...

    async def unpause(self, queue: str) -> bool:
        """Whether it was paused."""
        ...

    async def leases(self, *, limit: int = 100) -> list[Job]:
        """Jobs that somebody holds, the lease that ends first at the head."""
        ...

    async def leased_by_task(self) -> list[tuple[str, int]]:
        """How many jobs of each task somebody holds."""
        ...

    async def lost(self) -> int:
        """How many leases have run out and were not taken back yet, counted up to CAP."""
        ...

    async def ahead(self, job: Job) -> int:
        """How many due jobs of its queue are claimed before this one, counted up to CAP."""
        ...

    async def limit(self, job: Job) -> LimitRow | None:
        """The gate that a job goes through, as it stands; None for one without a limit."""
        ...

    async def claimed_at_ms(self, queue: str, since_ms: int) -> int | None:
        """When a job of this queue was last started; None when none of the latest starts was of this queue."""
        ...


class Workers(Protocol):
    """Who works, by their own word."""

    async def list(self) -> list[WorkerRow]:
        """Every worker that is on record, the last seen first."""
        ...

    async def seen(self, owner: str, queues: Mapping[str, int], concurrency: int, stats: Mapping[str, int]) -> None:
        """This one is there, and says of itself."""
        ...

    async def gone(self, owner: str, forget_ms: int) -> None:
        """This one has left; so have those that were not seen for so long."""
        ...


class Schedules(Protocol):
    """Schedules as they are kept. Taking a tick and submitting its jobs is one transaction."""

    async def get(self, name: str) -> ScheduleRow | None: ...

    async def due(self, now_ms: int, limit: int) -> Sequence[ScheduleRow]: ...

    async def keep(self, row: ScheduleRow) -> None:
        """Declare a schedule: new, or as another version of the one with its name."""
        ...

    async def take(
        self, row: ScheduleRow, last_tick_ms: int, next_tick_ms: int, specs: Sequence[Spec]
    ) -> Sequence[Submitted] | None:
        """Move a schedule on and submit these jobs, both or neither; None when another scheduler was first."""
        ...

    async def pause(self, name: str) -> bool: ...

    async def resume(self, name: str, last_tick_ms: int, next_tick_ms: int) -> bool: ...

    async def drop(self, name: str) -> bool: ...

    async def list(self) -> list[ScheduleRow]: ...


class ApiKeys(Protocol):
    """Keys to the HTTP API: a digest of the secret, never the secret."""

    async def add(self, row: KeyRow) -> None: ...

    async def live(self, key_id: str) -> KeyRow | None:
        """The key, if it opens anything now. Asked of the database each time: a revocation holds at once."""
        ...

    async def any_live(self) -> bool: ...

    async def revoke(self, key_id: str) -> KeyRow | None:
        """The key as it is now; None when there is none. Twice is as once."""
        ...

    async def expire(self, key_id: str, after_ms: int) -> KeyRow | None:
        """The key as it is now: it ends after this time, or sooner where it did before. None when there is none."""
        ...

    async def used(self, key_id: str) -> None: ...

    async def list(self) -> list[KeyRow]:
        """All of them, the newest first; revoked and expired ones too."""
        ...


class Admin(Protocol):
    """All of these."""

    @property
    def queues(self) -> Queues: ...
    @property
    def workers(self) -> Workers: ...
    @property
    def schedules(self) -> Schedules: ...
    @property
    def keys(self) -> ApiKeys: ...
    @property
    def dead(self) -> DeadLetters: ...
    @property
    def answers(self) -> Answers: ...
