"""The store's contract. Both stores keep it, and one conformance suite holds them to it.

Every call is a batch and one transaction: it takes effect as a whole or not at all. Time is the store's:
the database's clock on PostgreSQL, the process's on SQLite, or the clock that a test moves.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from holdfast.kernel.event import Event
from holdfast.kernel.job import Job, Spec
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.move import Change
from holdfast.store.reads import PurgeRow, Reads, SealRow


class Submitted(NamedTuple):
    """The answer to one spec: its job, or the job that already holds its key."""

    job_id: str
    created: bool


class Refusal(NamedTuple):
    """Why one move of a change had no effect.

    `why` is one of: missing (no such job), stale (the attempt is over), state (the job is not where the path
    begins), owner (another owner has it), lease (the owner's lease has run out), key (it would come back to life,
    and another job has its key), cancelled (it was to run over a list, and had been asked to stop).
    """

    job_id: str
    why: str
    state: str | None = None
    attempt: int | None = None


class Applied(NamedTuple):
    """What a set of changes did: the new version of each job that moved, and what was refused."""

    versions: dict[str, int]
    refused: list[Refusal]


class Lease(NamedTuple):
    """A worker's hold on a job: the attempt is the fence."""

    job_id: str
    attempt: int


class Signal(NamedTuple):
    """Something that happened to a job and is no transition: a heartbeat, a renewal, progress."""

    job_id: str
    attempt: int
    type: str
    actor: str
    payload: str | None = None


class Feed(Protocol):
    """Follows the log in feed order without missing an event that commits late."""

    position: int
    """Everything up to here has been handed out; a later reader may start from it."""

    async def next(self, limit: int = 1000) -> list[Event]:
        """The next events, or none when there are none that are safe to pass on yet."""
        ...


class Store(Protocol):
    """Jobs and events. The only writer of both."""

    @property
    def reads(self) -> Reads: ...

    async def migrate(self) -> list[str]:
        """Bring the schema up to date and return the names of the migrations that were applied."""
        ...

    async def close(self) -> None:
        """Let running calls end, then close every connection."""
        ...

    async def now_ms(self) -> int:
        """The store's time, in milliseconds since 1970."""
        ...

    async def register(self, lifecycle: Lifecycle) -> None:
        """Make a lifecycle known here, and keep its table in the database so that an audit needs no code."""
        ...

    async def submit(self, specs: Sequence[Spec], *, op_id: str | None = None) -> list[Submitted]:
        """Create a job and its first event for each spec, in order.

        A key that is held is answered as its duplicates policy says: with the job that holds it, with
        DuplicateKeyError (then nothing of this call is stored), or by cancelling that job. Two specs with one
        key in one call are treated as if submitted one after the other.
        """
        ...

    async def claim(
        self, queues: Collection[str], limit: int, owner: str, *, start: bool = True, op_id: str | None = None
    ) -> list[Job]:
        """Take up to `limit` due jobs of these queues, highest priority first, then longest due.

        Longest due holds within one queue, lifecycle and state; of several with one priority each has its turn, or,
        when `queues` maps names to weights, comes first as often as its weight says.
        A priority that no waiting job had a moment ago may be noticed a second late, never when all else is
        taken. Jobs of lifecycles that are not registered here are left to others. Each gets its lease, one more
        try, and the claim's event; with `start`, the start's event too. No job is ever given out twice in one
        attempt. Jobs that another transaction holds are passed over. A repeat under the same `op_id` claims
        nothing more: it returns what the first claimed, as far as the owner still holds it.
        """
        ...

    async def take_over(self, queues: Collection[str], limit: int, owner: str) -> list[Job]:
        """Take jobs whose lease ran out and whose lifecycle goes on where it stands, as the next attempt."""
        ...

    async def apply(self, changes: Sequence[Change], *, op_id: str | None = None) -> Applied:
        """Apply each change's path to those of its jobs that stand where it begins, under its fence.

        A job moves exactly when its attempt and state are as the change says and, for a worker's change, the
        worker's lease has not run out. All else is refused, one by one, and changes nothing. A repeat under
        the same `op_id` has no effect and answers as the first did.
        """
        ...

    async def renew(self, owner: str, leases: Sequence[Lease], *, beat: bool = True) -> list[str]:
        """Extend the owner's leases from now on and return the ids of those that are lost.

        A lease that has run out is lost even when nobody has taken the job. With `beat`, each renewal leaves a
        signal.
        """
        ...

    async def let_go(self, owner: str, leases: Sequence[Lease]) -> None:
        """End these leases now, so that a job that is taken over rather than requeued need not wait.

        A lease that has run out, or that another has by now, stays as it is.
        """
        ...

    async def lost(self, limit: int) -> list[Job]:
        """Jobs whose lease has run out and whose lifecycle sends them on to the next attempt, oldest first."""
        ...

    async def expired(self, limit: int) -> list[Job]:
        """Jobs past their expiry, in a state that can expire, oldest first."""
        ...

    async def promote(self, now_ms: int, limit: int) -> int:
        """Make jobs more urgent whose deadlines have passed, up to `limit` of these; how many jobs that were."""
        ...

    async def request_cancel(self, leases: Sequence[Lease], mode: str) -> list[str]:
        """Ask the owners of these leased jobs to stop, "hard" or "soft: why"; return the ids that were asked."""
        ...

    async def signal(self, signals: Sequence[Signal], *, ttl_ms: int = 86_400_000) -> None:
        """Keep signals for `ttl_ms`."""
        ...

    async def add_seal(self, seal: SealRow) -> bool:
        """Add the next seal; False when another sealer was first, and nothing is changed then."""
        ...

    async def prune(self, job_ids: Sequence[str], now_ms: int | None = None) -> PurgeRow | None:
        """Remove those of these jobs that are over and whose events are all sealed, and put that on record.

        A job goes with its events, signals, dead letter and keys. None when there was nothing to remove.
        """
        ...

    async def purge_payloads(self, job_ids: Sequence[str], now_ms: int | None = None) -> PurgeRow | None:
        """Remove payload and outcome of those of these jobs that are finished, and what their events carried.

        Digests take their place, so that every seal and certificate still holds. None when nothing was left.
        """
        ...

    async def drop_expired(self, limit: int, now_ms: int | None = None) -> tuple[int, int]:
        """Remove up to `limit` signals and op_ids whose time is over; how many of each were removed."""
        ...

    async def ensure_partitions(self, now_ms: int | None = None, weeks: int = 4) -> list[str]:
        """Make the log's partitions for this week and the coming ones; the names of those that are new.

        A week that cannot have one, since the default partition holds rows of it, goes on without.
        """
        ...

    async def drop_partitions(self, now_ms: int | None = None) -> list[str]:
        """Drop the partitions of past weeks that retention has emptied; their names."""
        ...

    def feed(self, after: int = 0) -> Feed:
        """A reader of the log that starts behind the position `after`."""
        ...
