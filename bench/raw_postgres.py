"""The limit on PostgreSQL: the same rows by the shortest way, with nothing of ours but the tables."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Any

import asyncpg

from bench.contender import LEASE_MS, OWNER, PAYLOAD, RESULT
from bench.overlap import overlapped
from bench.site import Site

DIGEST = bytes(32)
"""As long as a digest; the limit computes none."""

# A table that was loaded a moment ago has no statistics: without these the limit would measure a bad plan.
SETTINGS = {
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "jit": "off",
    "plan_cache_mode": "force_generic_plan",
}

SUBMIT = f"""
WITH made AS (
    INSERT INTO holdfast_job (
        id, lifecycle, task, queue, priority, state, attempt, version, tries, max_tries, losses, ready,
        due_at_ms, lease_ms, created_at_ms, changed_at_ms, payload
    )
    SELECT id, 'durable', 'noop', 'default', 0, 'queued', 1, 1, 0, 1, 0, TRUE, $3, {LEASE_MS}, $3, $3, payload
    FROM unnest($1::uuid[], $2::text[]) AS spec (id, payload)
)
INSERT INTO holdfast_event (job_id, seq, type, to_state, at_ms, actor, attempt, digest)
SELECT id, 1, 'job_submitted', 'queued', $3::bigint, 'client', 1, $4::bytea
FROM unnest($1::uuid[]) AS spec (id)
"""

# Claims start behind the last one, as ours do: the head of the index is full of entries that are gone.
CLAIM = f"""
WITH claimed AS (
    UPDATE holdfast_job
    SET state = 'running', version = version + 2, tries = tries + 1, ready = FALSE, lease_owner = '{OWNER}',
        lease_until_ms = $1::bigint + lease_ms, changed_at_ms = $1, started_at_ms = $1
    WHERE id = ANY (ARRAY(
        SELECT id
        FROM holdfast_job
        WHERE ready AND queue = 'default' AND lifecycle = 'durable' AND state = 'queued' AND priority = 0
            AND (due_at_ms, id) > ($2::bigint, $3::uuid) AND due_at_ms <= $1
        ORDER BY due_at_ms, id
        LIMIT $4::bigint
        FOR UPDATE SKIP LOCKED
    ))
    RETURNING id, payload, due_at_ms
),
logged AS (
    INSERT INTO holdfast_event (job_id, seq, type, from_state, to_state, at_ms, actor, attempt)
    SELECT claimed.id, step.seq, step.type, step.from_state, step.to_state, $1, '{OWNER}', 1
    FROM claimed CROSS JOIN (
        VALUES (2, 'job_claimed', 'queued', 'assigned'), (3, 'job_started', 'assigned', 'running')
    ) AS step (seq, type, from_state, to_state)
)
SELECT id, payload, due_at_ms FROM claimed
"""

FINISH = f"""
WITH moved AS (
    UPDATE holdfast_job
    SET state = 'succeeded', version = version + 1, lease_owner = NULL, lease_until_ms = NULL,
        changed_at_ms = $2::bigint, finished_at_ms = $2, outcome = $3::text
    WHERE id = ANY ($1::uuid[])
    RETURNING id, version
)
INSERT INTO holdfast_event (job_id, seq, type, from_state, to_state, at_ms, actor, attempt, digest)
SELECT id, version, 'job_succeeded', 'running', 'succeeded', $2, '{OWNER}', 1, $4::bytea FROM moved
"""


class RawPostgres:
    """Two connections: one claims while the other finishes."""

    name = "raw SQL"

    def __init__(self, site: Site, *, result: bool) -> None:
        self._address = site.address
        self._outcome = (f'{{"result":{RESULT}}}', DIGEST) if result else (None, None)
        self._floor = (-1, uuid.UUID(int=0))

    async def open(self) -> None:
        self._claimer = await asyncpg.connect(self._address, server_settings=SETTINGS)
        self._finisher = await asyncpg.connect(self._address, server_settings=SETTINGS)
        self._submit = await self._claimer.prepare(SUBMIT)
        self._claim = await self._claimer.prepare(CLAIM)
        self._finish = await self._finisher.prepare(FINISH)

    def prepare(self, ids: Sequence[str]) -> tuple[list[uuid.UUID], list[str]]:
        return [uuid.UUID(job_id) for job_id in ids], [PAYLOAD] * len(ids)

    async def submit(self, batch: tuple[list[uuid.UUID], list[str]]) -> None:
        await self._submit.fetch(*batch, _now_ms(), DIGEST)

    async def claim(self, limit: int) -> Sequence[Any]:
        rows = await self._claim.fetch(_now_ms(), *self._floor, limit)
        if rows:
            self._floor = max((row[2], row[0]) for row in rows)
        return rows

    async def finish(self, taken: Sequence[Any]) -> None:
        await self._finish.fetch([row[0] for row in taken], _now_ms(), *self._outcome)

    async def drain(self, batch: int, jobs: int, until_s: float) -> int:
        return await overlapped(self, batch, jobs, until_s)

    async def close(self) -> None:
        await self._claimer.close()
        await self._finisher.close()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
