"""Dead letters: looked at by person or program, then replayed or discarded. A resolved letter stays on record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from holdfast.kernel.job import Spec
from holdfast.store.port.jobs import Submitted

REPLAYED = "replayed:"
ALL = 2**31 - 1
"""As many letters as there are."""


class DeadLetter(NamedTuple):
    """A dead letter, and what its job was to do."""

    job_id: str
    at_ms: int
    reason_code: str
    stage: str
    last_error: str | None
    attempts: int
    last_owner: str | None
    last_lease_expires_at_ms: int | None
    correlation_id: str
    fingerprint: str
    resolution: str | None
    task: str
    queue: str

    @property
    def replayed_as(self) -> str | None:
        """The id of the job that it was replayed as."""
        resolution = self.resolution or ""
        return resolution.removeprefix(REPLAYED) if resolution.startswith(REPLAYED) else None

    @property
    def became(self) -> str | None:
        """Its resolution in words."""
        return f"replayed as {self.replayed_as}" if self.replayed_as else self.resolution


class Group(NamedTuple):
    """Open letters that failed alike, and the newest of them. One that is not exact may have more, and older ones."""

    fingerprint: str
    letters: int
    first_at_ms: int
    last_at_ms: int
    example: DeadLetter
    is_exact: bool = True


class Wanted(NamedTuple):
    """Which letters. None means any; `resolved` False means those that still wait for somebody."""

    reason_code: str | None = None
    stage: str | None = None
    task: str | None = None
    fingerprint: str | None = None
    resolved: bool | None = False


class DeadPage(NamedTuple):
    """Letters, newest first, and the cursor of the next page; None at the end."""

    items: list[DeadLetter]
    next_cursor: str | None


class DeadLetters(Protocol):
    """Reads, and the two ways to resolve. Each call is one transaction."""

    async def page(self, wanted: Wanted, *, limit: int = 50, cursor: str | None = None, steps: int = ALL) -> DeadPage:
        """One keyset page. A cursor that was not given out by `page` is a StoreError.

        No more than `steps` letters are looked at: a page may be short, even empty, and lead on.
        """
        ...

    def is_place(self, cursor: str) -> bool:
        """Whether a cursor looks like one that `page` gives out."""
        ...

    async def of(self, job_ids: Sequence[str]) -> list[DeadLetter]:
        """The letters of these jobs, resolved or not, in no particular order."""
        ...

    async def groups(self, *, limit: int = 50) -> list[Group]:
        """Open letters by fingerprint, the largest group first. No more than the newest 10,000 letters are counted."""
        ...

    async def counts(self) -> tuple[int, int]:
        """How many letters are open, and how many are resolved."""
        ...

    async def replay(self, specs: Mapping[str, Spec]) -> dict[str, Submitted]:
        """Submit a new job for each dead job's id, and note it in its letter.

        One that was replayed before is answered with the job that it became. Ids without a letter are left out.
        """
        ...

    async def discard(self, job_ids: Sequence[str], reason: str) -> list[str]:
        """Resolve letters without a replay; the ids of those that were open."""
        ...
