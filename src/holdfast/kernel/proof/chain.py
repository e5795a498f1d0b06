"""How the log's rows hang together: from where a job stands, each names the one before it, back to the job's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class BackLink(NamedTuple):
    """A row of the log that a job is in, and the row before it that it names."""

    pos: int
    prev: int | None


def breaks(first_pos: int, links: Sequence[BackLink], stands_at: int) -> list[str]:
    """What is wrong with the rows of a job, in order, behind its own."""
    found = []
    at = first_pos
    for link in links:
        if link.prev != at:
            found.append(f"its row of the log at {link.pos} names {link.prev} as the one before it, which is {at}")
        at = link.pos
    if stands_at != at:
        found.append(f"it stands at {stands_at}, its last row of the log is {at}")
    return found
