"""What is measured: whoever can take in jobs and drain them. One file per contender."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from bench.site import Site

OWNER = "bench-1"
LEASE_MS = 3_600_000
CLAIMED = '[["job_claimed","queued","assigned",0],["job_started","assigned","running",0]]'
ENDED = '[["job_succeeded","running","succeeded",0]]'
"""The paths of a claim and of an end, as a row of the log has them."""

"""Longer than any measurement: nothing here is about lost leases."""

PAYLOAD = '{"url":"https://example.test/catalogue/items/1","depth":3,"note":"NOTE"}'
PAYLOAD = PAYLOAD.replace("NOTE", "x" * (130 - len(PAYLOAD) + len("NOTE")))
"""What every job carries: 130 bytes."""

RESULT = '{"status":200,"bytes":48213}'
"""What a job returns, in the scenarios where it returns something."""


class Contender(Protocol):
    """One store or queue under measurement, at one site. Its connections are open when `open` returns."""

    name: str

    async def open(self) -> None:
        """Connect, and be ready: nothing of this is measured."""
        ...

    def prepare(self, ids: Sequence[str]) -> Any:
        """One batch, as its caller would have it in hand. Not measured."""
        ...

    async def submit(self, batch: Any) -> None:
        """Store one prepared batch, durably."""
        ...

    async def drain(self, batch: int, jobs: int, until_s: float) -> int:
        """Claim, start and finish `jobs` jobs, `batch` at a time, or fewer when `until_s` comes first.

        Returns how many were finished. `until_s` is a reading of time.monotonic().
        """
        ...

    async def close(self) -> None: ...


class Stepwise(Contender, Protocol):
    """A contender whose claim and finish can also be measured on their own."""

    async def claim(self, limit: int) -> Sequence[Any]:
        """Claim and start up to `limit` jobs in one transaction."""
        ...

    async def finish(self, taken: Sequence[Any]) -> None:
        """End what a claim returned, as succeeded, in one transaction."""
        ...


class Entry(Protocol):
    """How a contender enters: at a site, with or without results."""

    def __call__(self, site: Site, *, result: bool) -> Contender: ...
