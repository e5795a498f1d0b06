"""What this process has taken, and where it stands: its writes need not look for it.

What is known may be old: a lease may have been divided or lost since. It decides about speed, never about truth: a
write names the lease and the bit, and moves nothing where these no longer hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

from holdfast.kernel.job import Job
from holdfast.kernel.move import Change, Move

FIELDS = len(Job._fields)
LIFECYCLE, STATE, ATTEMPT = (Job._fields.index(name) for name in ("lifecycle", "state", "attempt"))
READY, OWNER, DUE = (Job._fields.index(name) for name in ("ready", "lease_owner", "due_at_ms"))
TOKEN, AT, SIZE, MOVED_TO, TURN = range(FIELDS, FIELDS + 5)
"""Where a row goes on behind the fields of a job."""

MOVED = (
    *("id", "attempt", "version", "tries", "losses", "changed_at_ms", "started_at_ms", "finished_at_ms"),
    *("expires_at_ms", "kept", "token", "at", "due_at_ms", "turn"),
)
_OF_JOB = ("id", "attempt", "version", "tries", "losses", "changed_at_ms", "started_at_ms", "finished_at_ms")
ROW = itemgetter(
    *(Job._fields.index(name) for name in (*_OF_JOB, "expires_at_ms", "outcome")), TOKEN, AT, MOVED_TO, TURN
)
"""A job's part in a move, in the order of `MOVED`."""

EQUALS = frozenset({"attempt", "version", "tries", "losses", "changed_at_ms", "token"})
"""Columns that are never null where they matter, and mostly equal."""

MOST = 100_000


class Hands:
    """Rows of jobs under leases that were taken here."""

    def __init__(self) -> None:
        self._rows: dict[str, Any] = {}

    def take(self, rows: Sequence[Any]) -> list[Job]:
        if len(self._rows) > MOST:
            self._rows.clear()
        self._rows.update((row[0], row) for row in rows)
        return [Job._make(row[:FIELDS]) for row in rows]

    def of(self, change: Change, source: str) -> list[tuple[Any, Move]]:
        """The moves of a change whose jobs are in hand as it says."""
        rows, owner, lifecycle = self._rows, change.owner, change.lifecycle.name
        found: dict[str, tuple[Any, Move]] = {}
        for move in change.moves:
            row = rows.get(move.job_id)
            if row is None or row[ATTEMPT] != move.attempt or row[STATE] != source:
                continue
            if row[OWNER] == owner and row[LIFECYCLE] == lifecycle:
                found.setdefault(move.job_id, (row, move))
        return list(found.values())

    def drop(self, job_ids: Iterable[str]) -> None:
        for job_id in job_ids:
            self._rows.pop(job_id, None)
