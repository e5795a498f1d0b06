"""A million jobs, written straight into the tables: what lists look through, in the shapes that are hardest for them.

Almost all are alike and over. What is rare is old: a page that is filtered by it has everything else before it.
"""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
from typing import Any

from holdfast.store.open import open_store

JOBS = 1_000_000
RARE = 100
LETTERS = 100_000
PARENT = "01900000-0000-7000-8000-000000000001"
PREFIX = "01900000-0000-7000-8000-"

COLUMNS = """
    id, lifecycle, task, queue, priority, state, attempt, version, tries, max_tries, losses, ready, due_at_ms,
    lease_ms, lease_owner, lease_until_ms, created_at_ms, changed_at_ms, finished_at_ms, key_scope, key,
    correlation_id, parent_id, payload
"""
LOAD = """
    INSERT INTO holdfast_job ({columns})
    WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < {jobs}),
    s AS (
        SELECT n, CASE
            WHEN n <= {rare} THEN 'failed' WHEN n % 100 = 0 THEN 'queued' WHEN n % 1000 = 1 THEN 'running'
            ELSE 'succeeded' END AS state
        FROM series
    )
    SELECT
        {id}, CASE WHEN n <= {rare} THEN 'crawl' ELSE 'durable' END,
        CASE WHEN n <= {rare} THEN 'rare' ELSE 'task' || (n % 3) END,
        CASE WHEN n <= {rare} THEN 'old' ELSE 'default' END, 0, state, 1, 1, 0, 3, 0, state = 'queued', n, 60000,
        CASE state WHEN 'running' THEN 'w' END, CASE state WHEN 'running' THEN 4000000000000 END, n, n,
        CASE state WHEN 'succeeded' THEN n END, CASE WHEN n % 10 = 0 THEN 'task0' END,
        CASE WHEN n % 10 = 0 THEN 'k' || (n % 1000) END, CASE WHEN n % 10 = 0 THEN 'order-1' END,
        CASE WHEN n % 10 = 0 THEN {parent} END, '{{"n":1}}'
    FROM s
"""


VALUES: dict[str, tuple[str, ...]] = {
    "state": ("succeeded", "queued", "failed", "cancelled"),
    "task": ("task1", "rare", "none"),
    "queue": ("default", "old", "none"),
    "lifecycle": ("durable", "crawl", "sandbox"),
}
COMBINATIONS: list[dict[str, Any]] = [
    dict(zip(names, values, strict=True))
    for count in range(len(VALUES) + 1)
    for names in itertools.combinations(VALUES, count)
    for values in itertools.product(*(VALUES[name] for name in names))
]
LARGE: list[dict[str, Any]] = [{"limit": 500, **more} for more in ({}, {"state": "running"}, {"task": "task2"})]
WORDS = ("task", "rare", "k500", "order-1", PREFIX, f"{PREFIX}0000000f", "0190", "none at all")
SEARCHES: list[dict[str, Any]] = [
    {"q": word, **more} for word in WORDS for more in ({}, {"state": "queued"}, {"queue": "old"})
]
OTHER_LISTS = [
    *(f"/api/{name}" for name in ("leases", "queues", "workers", "schedules", "flows", "pipeline/jobs")),
    *(f"/api/dead?{more}" for more in ("limit=500", "task=rare", "group=rare", "stage=fetch", "resolved=true")),
    "/api/dead/groups",
    "/metrics",
]
BURY = """
    INSERT INTO holdfast_dead (job_id, at_ms, reason_code, stage, attempts, correlation_id, fingerprint)
    SELECT id, created_at_ms, CASE task WHEN 'rare' THEN 'timeout' ELSE 'exhausted_retries' END, 'exec', 3, 'c', task
    FROM holdfast_job WHERE created_at_ms <= {letters}
"""


def load(url: str, jobs: int = JOBS) -> None:
    """Bring a database up to date and fill it. The oldest jobs have dead letters, the rare ones among them first."""
    asyncio.run(_migrated(url))
    shape = {"columns": COLUMNS, "jobs": jobs, "rare": RARE}
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
        connection.executescript("PRAGMA synchronous = OFF; PRAGMA cache_size = -400000")
        connection.execute(LOAD.format(**shape, id=f"'{PREFIX}' || printf('%012x', n)", parent=f"'{PARENT}'"))
        connection.execute(BURY.format(letters=LETTERS))
        connection.close()
        return
    import psycopg

    with psycopg.connect(url, autocommit=True) as postgres:
        postgres.execute("SET synchronous_commit = off")
        made_id, parent = f"('{PREFIX}' || lpad(to_hex(n), 12, '0'))::uuid", f"'{PARENT}'::uuid"
        postgres.execute(LOAD.format(**shape, id=made_id, parent=parent).encode())
        postgres.execute(BURY.format(letters=LETTERS).encode())


async def _migrated(url: str) -> None:
    store = open_store(url)
    await store.migrate()
    await store.close()
