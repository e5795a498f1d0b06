"""What chores find and write: what is lost or late, seals, retention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from holdfast.kernel.job import Job

if TYPE_CHECKING:
    from holdfast.store.port.ask import Ask, Facts


class SealRow(NamedTuple):
    """One seal: a batch of the log under one root, bound to the seal before it."""

    number: int
    first_pos: int
    last_pos: int
    count: int  # type: ignore[assignment] # hides the tuple's own, which nobody needs
    root: bytes
    previous: bytes
    head: bytes
    purges: bytes
    sealed_at_ms: int
    manifest: bytes | None


class PurgeRow(NamedTuple):
    """What retention removed: how much, and which positions of the log."""

    number: int
    at_ms: int
    kind: str
    jobs: int
    events: int
    first_pos: int
    last_pos: int
    ranges: str
    digest: bytes


class Upkeep(Protocol):
    """Any number of processes may do it at once, without a leader."""

    async def lost(self, limit: int) -> list[Job]:
        """Jobs whose lease has run out and whose lifecycle sends them on to the next attempt, oldest first."""
        ...

    async def expired(self, limit: int) -> list[Job]:
        """Jobs past their expiry, in a state that can expire, oldest first."""
        ...

    async def promote(self, now_ms: int, limit: int) -> int:
        """Make jobs more urgent whose deadlines have passed, up to `limit` of these; how many jobs that were."""
        ...

    async def add_seal(self, seal: SealRow) -> bool:
        """Add the next seal; False when another sealer was first, and nothing is changed then."""
        ...

    async def prune(self, job_ids: Sequence[str], now_ms: int | None = None) -> PurgeRow | None:
        """Remove those of these jobs that are over and whose events are all sealed, and put that on record.

        A job goes with its events, signals, dead letter and keys. None when there was nothing to remove.
        """
        ...

    async def remove(self, job_ids: Sequence[str], ask: Ask) -> Facts:
        """The same for who asks from outside. BusyError when there was nothing to remove."""
        ...

    async def purge_payloads(self, job_ids: Sequence[str], now_ms: int | None = None) -> PurgeRow | None:
        """Remove payload and outcome of those of these jobs that are finished, and what their events carried.

        Digests take their place, so that every seal and certificate still holds. None when nothing was left.
        """
        ...

    async def drop_expired(self, limit: int, now_ms: int | None = None) -> tuple[int, int]:
        """Remove up to `limit` signals and op_ids whose time is over; how many of each were removed."""
        ...

    async def named_blobs(self, digests: Sequence[str]) -> set[str]:
        """Which of these blobs some row names: all others are nobody's."""
        ...
