"""Who waits for something to do, and who has made something."""

from __future__ import annotations

from typing import Protocol


class Wakeups(Protocol):
    """Hints: nothing depends on them. Who is not woken looks again after a while."""

    def ring(self) -> None:
        """There may be something to do. Who waits in this process looks at once, others within a moment."""
        ...

    def ring_near(self) -> None:
        """The same, for this process alone."""
        ...

    @property
    def waiting(self) -> int:
        """How many wait now, in this process."""
        ...

    def ticket(self) -> int:
        """Taken before looking: what comes while looking is then not slept through."""
        ...

    async def wait(self, ticket: int, timeout_s: float) -> None:
        """Until something rang behind the ticket, for no longer than the timeout."""
        ...

    async def listen(self) -> None:
        """Hear other processes too, until cancelled."""
        ...
