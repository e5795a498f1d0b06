"""Statements that fill a database with jobs past the store, in each place where one may stand.

Jobs are numbered from 1 and made at the time of their number. They wait, run under leases of a hundred, or are over.
"""

from collections.abc import Iterator, Mapping

SPAN = 4096
LEASED_AT_ONCE = 100
PLAIN: Mapping[str, str] = {
    "lifecycle": "'durable'",
    "task": "'task' || (n % 7)",
    "queue": "'default'",
    "key_scope": "NULL",
    "key": "NULL",
    "correlation_id": "NULL",
    "parent_id": "NULL",
    "payload": "NULL",
}
"""What may be said of a job, as SQL over its number."""

PREFIX = "01900000-0000-7000-8000-"


def filled(dialect: str, jobs: int, state: str, columns: Mapping[str, str]) -> Iterator[str]:
    """Where a job stands is said by `state`, as SQL over its number: one of queued, running, and those of rest."""
    own = {**PLAIN, **columns}
    postgres = dialect == "postgres"
    made = f"('{PREFIX}' || lpad(to_hex(n), 12, '0'))::uuid" if postgres else f"'{PREFIX}' || printf('%012x', n)"
    if postgres and own["parent_id"] != "NULL":
        own["parent_id"] = f"({own['parent_id']})::uuid"
    elif postgres:
        own["parent_id"] = "NULL::uuid"
    yield f"""
        INSERT INTO holdfast_job (
            id, pos, priority, state, turn, gate, max_tries, lease_ms, due_at_ms, created_at_ms, event_type, actor,
            {", ".join(own)}
        )
        WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < {jobs})
        SELECT
            {made}, n * CAST({SPAN} AS bigint), 0, 'queued', 0, '', 3, 60000, n, n, 'job_submitted', 'client',
            {", ".join(own.values())}
        FROM series
    """
    stands = (
        f"(SELECT j.*, {state} AS stands FROM (SELECT job.*, created_at_ms AS n FROM holdfast_job AS job) AS j) AS s"
    )
    new = f"n <= {jobs} AND created_at_ms = n AND pos = n * CAST({SPAN} AS bigint)"
    yield f"""
        INSERT INTO holdfast_ready (
            queue, lifecycle, state, turn, gate, due_at_ms, id, attempt, version, tries, losses, changed_at_ms, pos,
            moved
        )
        SELECT queue, lifecycle, state, turn, gate, due_at_ms, id, 1, 1, 0, 0, n, pos, FALSE
        FROM {stands} WHERE stands = 'queued' AND {new}
    """
    yield f"""
        INSERT INTO holdfast_rest (
            id, state, attempt, version, tries, losses, changed_at_ms, started_at_ms, finished_at_ms, pos
        )
        SELECT id, stands, 1, 1, 0, 0, n, n, CASE stands WHEN 'succeeded' THEN n END, pos
        FROM {stands} WHERE stands NOT IN ('queued', 'running') AND {new}
    """
    if not postgres:
        yield f"""
            INSERT INTO holdfast_held (
                id, queue, lifecycle, state, gate, owner, until_ms, lease_ms, attempt, version, tries, losses,
                changed_at_ms, started_at_ms, pos
            )
            SELECT id, queue, lifecycle, 'running', gate, 'w', 4000000000000, 60000, 1, 1, 0, 0, n, n, pos
            FROM {stands} WHERE stands = 'running' AND {new}
        """
        return
    yield f"""
        WITH batch AS (
            SELECT
                (number / {LEASED_AT_ONCE} + {jobs} + 1) * CAST({SPAN} AS bigint) AS pos, max(n) AS at_ms,
                array_agg(id) AS ids,
                array_agg(pos) AS prevs, array_agg(1) AS ones, array_agg(0) AS zeros, array_agg(n) AS starts,
                min(lifecycle) AS lifecycle, min(queue) AS queue
            FROM (
                SELECT *, row_number() OVER (ORDER BY n) - 1 AS number
                FROM {stands} WHERE stands = 'running' AND {new}
            ) AS running
            GROUP BY number / {LEASED_AT_ONCE}
        ),
        logged AS (
            INSERT INTO holdfast_log (
                pos, lifecycle, path, at_ms, actor, ids, prevs, attempts, versions, tries, losses, starts
            )
            SELECT
                pos, lifecycle, '[["job_claimed","queued","assigned",0],["job_started","assigned","running",0]]', at_ms,
                'w', ids, prevs, ones, ones, zeros, zeros, starts
            FROM batch
        )
        INSERT INTO holdfast_lease (
            pos, queue, lifecycle, state, gate, owner, until_ms, lease_ms, low, high, gone
        )
        SELECT
            pos, queue, lifecycle, 'running', '', 'w', 4000000000000, 60000, ids[1], ids[cardinality(ids)],
            repeat('0', cardinality(ids))::varbit
        FROM batch
    """
    yield f"SELECT setval('holdfast_log_pos', ({jobs} * 2::bigint + 1) * {SPAN})"
