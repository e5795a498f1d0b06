"""The limit on PostgreSQL: the same rows by the shortest way, with nothing of ours but the tables."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Any

import asyncpg

from bench.contender import CLAIMED, ENDED, LEASE_MS, OWNER, PAYLOAD, RESULT
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
        id, lifecycle, task, queue, priority, state, turn, gate, max_tries, lease_ms, due_at_ms, created_at_ms, payload,
        event_type, actor, digest
    )
    SELECT
        id, 'durable', 'noop', 'default', 0, 'queued', 0, '', 1, {LEASE_MS}, $3::bigint, $3, payload, 'job_submitted',
        'client', $4::bytea
    FROM unnest($1::uuid[], $2::text[]) AS spec (id, payload)
    RETURNING id, pos, due_at_ms
)
INSERT INTO holdfast_ready (
    queue, lifecycle, state, turn, gate, due_at_ms, id, attempt, version, tries, losses, changed_at_ms, pos, moved
)
SELECT 'default', 'durable', 'queued', 0, '', due_at_ms, id, 1, 1, 0, 0, due_at_ms, pos, FALSE FROM made
"""

# Claims start behind the last one, as ours do: the head of the index is full of entries that are gone.
CLAIM = f"""
WITH clock AS MATERIALIZED (
    SELECT nextval('holdfast_log_pos') AS pos, nextval('holdfast_token') AS token
),
taken AS (
    DELETE FROM holdfast_ready
    WHERE ctid = ANY (ARRAY(
        SELECT ctid
        FROM holdfast_ready
        WHERE queue = 'default' AND lifecycle = 'durable' AND state = 'queued' AND turn = 0 AND gate = ''
            AND (due_at_ms, id) > ($2::bigint, $3::uuid) AND due_at_ms <= $1::bigint
        ORDER BY due_at_ms, id
        LIMIT $4::bigint
        FOR UPDATE SKIP LOCKED
    ))
    RETURNING id, due_at_ms, pos
),
batch AS MATERIALIZED (
    SELECT array_agg(id ORDER BY id) AS ids, array_agg(pos ORDER BY id) AS prevs, count(*)::integer AS size FROM taken
),
logged AS (
    INSERT INTO holdfast_log (pos, lifecycle, path, at_ms, actor, ids, prevs, attempts, versions, tries, losses)
    SELECT
        pos, 'durable', '{CLAIMED}', $1, '{OWNER}', ids, prevs, array_fill(1, ARRAY[size]), array_fill(3, ARRAY[size]),
        array_fill(1, ARRAY[size]), array_fill(0, ARRAY[size])
    FROM clock, batch
    WHERE size > 0
),
leased AS (
    INSERT INTO holdfast_lease (
        token, pos, queue, lifecycle, state, gate, owner, until_ms, lease_ms, low, high, gone
    )
    SELECT
        token, pos, 'default', 'durable', 'running', '', '{OWNER}', $1 + {LEASE_MS}, {LEASE_MS}, ids[1], ids[size],
        repeat('0', size)::varbit
    FROM clock, batch
    WHERE size > 0
)
SELECT taken.id, job.payload, taken.due_at_ms, clock.token
FROM clock, taken
JOIN holdfast_job AS job ON job.id = taken.id
"""

FINISH = f"""
WITH clock AS MATERIALIZED (
    SELECT nextval('holdfast_log_pos') AS pos, cardinality($1::uuid[]) AS size
),
ended AS (
    DELETE FROM holdfast_lease WHERE token = $5::bigint RETURNING pos
),
rested AS (
    INSERT INTO holdfast_rest (
        id, state, attempt, version, tries, losses, changed_at_ms, started_at_ms, finished_at_ms, pos, outcome
    )
    SELECT id, 'succeeded', 1, 4, 1, 0, $2::bigint, $2, $2, pos, $3::text FROM clock, unnest($1::uuid[]) AS one (id)
)
INSERT INTO holdfast_log (pos, lifecycle, path, at_ms, actor, ids, prevs, attempts, versions, digests)
SELECT
    clock.pos, 'durable', '{ENDED}', $2, '{OWNER}', $1, array_fill(ended.pos, ARRAY[size]), array_fill(1, ARRAY[size]),
    array_fill(4, ARRAY[size]), CASE WHEN $4::bytea IS NOT NULL THEN array_fill($4::bytea, ARRAY[size]) END
FROM clock, ended
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
        # What is claimed at once is under one lease.
        await self._finish.fetch([row[0] for row in taken], _now_ms(), *self._outcome, taken[0][3])

    async def drain(self, batch: int, jobs: int, until_s: float) -> int:
        return await overlapped(self, batch, jobs, until_s)

    async def close(self) -> None:
        await self._claimer.close()
        await self._finisher.close()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
