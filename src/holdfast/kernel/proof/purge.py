"""What retention removed, on record: exact positions, and a digest that runs through every record so far."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable
from hashlib import sha256
from itertools import accumulate

JOBS = "jobs"
"""Jobs were removed with everything that belonged to them."""

PAYLOADS = "payloads"
"""The bodies of jobs and of their events were removed; their digests stay."""


def pack_ranges(positions: Iterable[int]) -> str:
    """Positions as JSON: the first, how many follow each other, how many are passed over, how many follow…"""
    numbers: list[int] = []
    last = 0
    for pos in sorted(positions):
        if numbers and pos == last + 1:
            numbers[-1] += 1
        else:
            numbers += [pos - last - 1 if numbers else pos, 1]
        last = pos
    return json.dumps(numbers, separators=(",", ":"))


class Ranges:
    """Positions, as `pack_ranges` wrote them. ValueError when a text is none of its."""

    __slots__ = ("_ends", "_starts", "count")

    def __init__(self, text: str) -> None:
        numbers = json.loads(text)
        if not isinstance(numbers, list) or len(numbers) % 2 or not all(type(n) is int for n in numbers):
            raise ValueError("not a list of ranges")
        edges = list(accumulate(numbers))
        self._starts, self._ends = edges[::2], edges[1::2]
        self.count = sum(numbers[1::2])

    def __contains__(self, pos: int) -> bool:
        at = bisect_right(self._starts, pos) - 1
        return at >= 0 and pos < self._ends[at]


def purge_digest(
    previous: bytes,
    number: int,
    at_ms: int,
    kind: str,
    jobs: int,
    events: int,
    first_pos: int,
    last_pos: int,
    ranges: str,
) -> bytes:
    """The running digest after a record: over the one before and everything that this one says."""
    fields = (number, at_ms, kind, jobs, events, first_pos, last_pos, ranges)
    return sha256(previous + json.dumps(fields, separators=(",", ":")).encode()).digest()
