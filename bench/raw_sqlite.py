"""The limit on SQLite: the same rows from one thread, with nothing of ours but the tables."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Sequence
from typing import Any

from bench.contender import LEASE_MS, OWNER, PAYLOAD, RESULT
from bench.site import Site

DIGEST = bytes(32)
"""As long as a digest; the limit computes none."""

PRAGMAS = ("journal_mode = WAL", "wal_autocheckpoint = 4000", "cache_size = -16384", "temp_store = MEMORY")
"""As the store sets them."""

SUBMIT = f"""
INSERT INTO holdfast_job (
    id, lifecycle, task, queue, priority, state, attempt, version, tries, max_tries, losses, ready, due_at_ms,
    lease_ms, created_at_ms, changed_at_ms, payload
)
VALUES (?1, 'durable', 'noop', 'default', 0, 'queued', 1, 1, 0, 1, 0, 1, ?3, {LEASE_MS}, ?3, ?3, ?2)
"""
SUBMITTED = """
INSERT INTO holdfast_event (job_id, seq, type, to_state, at_ms, actor, attempt, digest)
SELECT value, 1, 'job_submitted', 'queued', ?2, 'client', 1, ?3 FROM json_each(?1)
"""

# By rowid: the claim's own index leads to it, and the update needs no second way to the row.
CLAIM = f"""
UPDATE holdfast_job
SET state = 'running', version = version + 2, tries = tries + 1, ready = 0, lease_owner = '{OWNER}',
    lease_until_ms = ?1 + lease_ms, changed_at_ms = ?1, started_at_ms = ?1
WHERE rowid IN (
    SELECT rowid
    FROM holdfast_job
    WHERE ready AND queue = 'default' AND lifecycle = 'durable' AND state = 'queued' AND priority = 0
        AND due_at_ms <= ?1
    ORDER BY due_at_ms, id
    LIMIT ?2
)
RETURNING id, payload, rowid
"""
CLAIMED = f"""
INSERT INTO holdfast_event (job_id, seq, type, from_state, to_state, at_ms, actor, attempt)
SELECT job.id, step.column1, step.column2, step.column3, step.column4, ?2, '{OWNER}', 1
FROM json_each(?1) AS taken
    CROSS JOIN holdfast_job AS job ON job.rowid = taken.value
    CROSS JOIN (
        VALUES (2, 'job_claimed', 'queued', 'assigned'), (3, 'job_started', 'assigned', 'running')
    ) AS step
"""

FINISH = """
UPDATE holdfast_job
SET state = 'succeeded', version = version + 1, lease_owner = NULL, lease_until_ms = NULL, changed_at_ms = ?2,
    finished_at_ms = ?2, outcome = ?3
WHERE rowid IN (SELECT value FROM json_each(?1))
"""
FINISHED = f"""
INSERT INTO holdfast_event (job_id, seq, type, from_state, to_state, at_ms, actor, attempt, digest)
SELECT job.id, job.version, 'job_succeeded', 'running', 'succeeded', ?2, '{OWNER}', 1, ?3
FROM json_each(?1) AS taken CROSS JOIN holdfast_job AS job ON job.rowid = taken.value
"""


class RawSqlite:
    """One connection, used where it was opened: no thread, no hop."""

    name = "raw SQL"

    def __init__(self, site: Site, *, result: bool) -> None:
        self._db = sqlite3.connect(site.address, isolation_level=None)
        for pragma in (*PRAGMAS, f"synchronous = {site.synchronous}"):
            self._db.execute(f"PRAGMA {pragma}")
        self._outcome = (f'{{"result":{RESULT}}}', DIGEST) if result else (None, None)

    async def open(self) -> None:
        self._db.execute("SELECT 1 FROM holdfast_job LIMIT 1").fetchall()

    def prepare(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        return [(job_id, PAYLOAD) for job_id in ids]

    async def submit(self, batch: list[tuple[str, str]]) -> None:
        now_ms = _now_ms()
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany(SUBMIT, [(job_id, payload, now_ms) for job_id, payload in batch])
        self._db.execute(SUBMITTED, (json.dumps([job_id for job_id, _ in batch]), now_ms, DIGEST))
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
        self._db.execute(CLAIMED, (_rowids(rows), now_ms))
        return rows

    def _end(self, taken: Sequence[Any]) -> None:
        now_ms = _now_ms()
        outcome, digest = self._outcome
        self._db.execute(FINISH, (_rowids(taken), now_ms, outcome))
        self._db.execute(FINISHED, (_rowids(taken), now_ms, digest))

    async def close(self) -> None:
        self._db.close()


def _rowids(rows: Sequence[Any]) -> str:
    return json.dumps([row[2] for row in rows])


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
