"""Which of two waiting nodes goes first, as one number: deadlines, then depth, then priority. Of equals, the older."""

from __future__ import annotations

from enum import IntEnum

PRIORITIES = 1 << 11
"""Priorities of nodes count from minus this up to this; what lies beyond is cut off."""

DEPTHS = 1 << 17


class Sla(IntEnum):
    """How a job stands to its deadlines. A later one goes first."""

    NONE = 0
    TO_COME = 1
    SOFT_PASSED = 2
    HARD_PASSED = 3


def urgency(sla: Sla, depth: int, priority: int) -> int:
    """A number of 31 bits. Deeper nodes go first: what has begun is finished before more is begun."""
    cut_off = max(-PRIORITIES, min(priority, PRIORITIES - 1)) + PRIORITIES
    # A root without deadlines stands where any other job of its priority does.
    return (sla * DEPTHS + min(depth, DEPTHS - 1)) * 2 * PRIORITIES + cut_off - PRIORITIES
