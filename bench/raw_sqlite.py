"""The limit on SQLite: the same rows from one thread, with nothing of ours but the tables."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Sequence
from typing import Any

from bench.contender import CLAIMED, ENDED, LEASE_MS, OWNER, PAYLOAD, RESULT
from bench.site import Site

DIGEST = bytes(32)
"""As long as a digest; the limit computes none."""

PRAGMAS = ("journal_mode = WAL", "wal_autocheckpoint = 4000", "cache_size = -16384", "temp_store = MEMORY")
"""As the store sets them."""

SUBMIT = f"""
INSERT INTO holdfast_job (
    id, pos, lifecycle, task, queue, priority, state, turn, gate, max_tries, lease_ms, due_at_ms, created_at_ms,
    payload, event_type, actor, digest
)
VALUES (
    ?1, ?4, 'durable', 'noop', 'default', 0, 'queued', 0, '', 1, {LEASE_MS}, ?3, ?3, ?2, 'job_submitted', 'client', ?5
)
"""
SUBMITTED = """
INSERT INTO holdfast_ready (
    queue, lifecycle, state, turn, gate, due_at_ms, id, attempt, version, tries, losses, changed_at_ms, pos, moved
)
SELECT 'default', 'durable', 'queued', 0, '', due_at_ms, id, 1, 1, 0, 0, due_at_ms, pos, 0
FROM holdfast_job WHERE pos BETWEEN ?1 AND ?2
"""

LANE = "queue = 'default' AND lifecycle = 'durable' AND state = 'queued' AND turn = 0 AND gate = ''"
CLAIM = f"""
SELECT ready.id, job.payload, ready.due_at_ms, ready.pos
FROM (
    SELECT id, due_at_ms, pos FROM holdfast_ready WHERE {LANE} AND due_at_ms <= ?1 ORDER BY due_at_ms, id LIMIT ?2
) AS ready
CROSS JOIN holdfast_job AS job ON job.id = ready.id
"""
TAKE = f"DELETE FROM holdfast_ready WHERE {LANE} AND (due_at_ms, id) <= (?1, ?2)"
HOLD = f"""
INSERT INTO holdfast_held (
    id, queue, lifecycle, state, gate, owner, until_ms, lease_ms, attempt, version, tries, losses, changed_at_ms,
    started_at_ms, pos
)
VALUES (?1, 'default', 'durable', 'running', '', '{OWNER}', ?2 + {LEASE_MS}, {LEASE_MS}, 1, 3, 1, 0, ?2, ?2, ?3)
"""
LEAVE = "DELETE FROM holdfast_held WHERE id IN (SELECT value FROM json_each(?1))"
REST = """
INSERT INTO holdfast_rest (
    id, state, attempt, version, tries, losses, changed_at_ms, started_at_ms, finished_at_ms, pos, outcome
)
VALUES (?1, 'succeeded', 1, 4, 1, 0, ?2, ?2, ?2, ?3, ?4)
"""
LOG = f"""
INSERT INTO holdfast_log (pos, lifecycle, path, at_ms, actor, ids, prevs, attempts, versions, digests)
VALUES (?1, 'durable', ?2, ?3, '{OWNER}', ?4, ?5, ?6, ?7, ?8)
"""
SPAN = 4096
"""How many places a row of the log has."""


class RawSqlite:
    """One connection, used where it was opened: no thread, no hop."""

    name = "raw SQL"

    def __init__(self, site: Site, *, result: bool) -> None:
        self._db = sqlite3.connect(site.address, isolation_level=None)
        for pragma in (*PRAGMAS, f"synchronous = {site.synchronous}"):
            self._db.execute(f"PRAGMA {pragma}")
        self._outcome = (f'{{"result":{RESULT}}}', DIGEST) if result else (None, None)

    async def open(self) -> None:
        self._pos = self._db.execute("SELECT coalesce(max(pos), 0) FROM holdfast_row").fetchone()[0]

    def prepare(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        return [(job_id, PAYLOAD) for job_id in ids]

    async def submit(self, batch: list[tuple[str, str]]) -> None:
        now_ms = _now_ms()
        self._db.execute("BEGIN IMMEDIATE")
        first = self._pos + SPAN
        rows = [(job_id, payload, now_ms, first + n * SPAN, DIGEST) for n, (job_id, payload) in enumerate(batch)]
        self._db.executemany(SUBMIT, rows)
        self._pos = rows[-1][3]
        self._db.execute(SUBMITTED, (first, self._pos))
        self._db.execute("COMMIT")

    async def claim(self, limit: int) -> Sequence[Any]:
        self._db.execute("BEGIN IMMEDIATE")
        rows = self._take(limit)
        self._db.execute("COMMIT")
        return rows

    async def finish(self, taken: Sequence[Any]) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        self._end(taken)
        self._db.execute("COMMIT")

    async def drain(self, batch: int, jobs: int, until_s: float) -> int:
        """Finishes a batch and claims the next one in the same transaction: half the commits."""
        done, taken = 0, await self.claim(min(batch, jobs))
        while taken:
            left = jobs - done - len(taken)
            if time.monotonic() >= until_s:
                left = 0
            self._db.execute("BEGIN IMMEDIATE")
            self._end(taken)
            done += len(taken)
            taken = self._take(min(batch, left)) if left else []
            self._db.execute("COMMIT")
        return done

    def _take(self, limit: int) -> list[Any]:
        now_ms = _now_ms()
        rows = self._db.execute(CLAIM, (now_ms, limit)).fetchall()
        if not rows:
            return []
        self._db.execute(TAKE, (rows[-1][2], rows[-1][0]))
        self._log(CLAIMED, now_ms, rows, [row[3] for row in rows], 3, None)
        self._db.executemany(HOLD, [(row[0], now_ms, self._pos) for row in rows])
        return [(*row[:3], self._pos) for row in rows]

    def _end(self, taken: Sequence[Any]) -> None:
        now_ms = _now_ms()
        outcome, digest = self._outcome
        self._db.execute(LEAVE, (json.dumps([row[0] for row in taken]),))
        self._log(ENDED, now_ms, taken, [row[3] for row in taken], 4, digest)
        self._db.executemany(REST, [(row[0], now_ms, self._pos, outcome) for row in taken])

    def _log(self, path: str, at_ms: int, rows: Sequence[Any], prevs: list[int], version: int, digest: Any) -> None:
        """The next row of the log, for all of these."""
        self._pos += SPAN
        digests = None if digest is None else json.dumps([digest.hex()] * len(rows))
        lists = [row[0] for row in rows], prevs, [1] * len(rows), [version] * len(rows)
        self._db.execute(LOG, (self._pos, path, at_ms, *map(json.dumps, lists), digests))

    async def close(self) -> None:
        self._db.close()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
