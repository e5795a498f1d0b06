"""A million jobs, written straight into the tables: what lists look through, in the shapes that are hardest for them.

Almost all are alike and over. What is rare is old: a page that is filtered by it has everything else before it.
"""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
from typing import Any

from holdfast.store.open import open_store
from tests.load.filling import PREFIX, filled

JOBS = 1_000_000
RARE = 100
LETTERS = 100_000
PARENT = "01900000-0000-7000-8000-000000000001"

STATE = f"""
    CASE
        WHEN n <= {RARE} THEN 'failed' WHEN n % 100 = 0 THEN 'queued' WHEN n % 1000 = 1 THEN 'running' ELSE 'succeeded'
    END
"""
TENTH = "CASE WHEN n % 10 = 0 THEN {} END"
COLUMNS = {
    "lifecycle": f"CASE WHEN n <= {RARE} THEN 'crawl' ELSE 'durable' END",
    "task": f"CASE WHEN n <= {RARE} THEN 'rare' ELSE 'task' || (n % 3) END",
    "queue": f"CASE WHEN n <= {RARE} THEN 'old' ELSE 'default' END",
    "key_scope": TENTH.format("'task0'"),
    "key": TENTH.format("'k' || (n % 1000)"),
    "correlation_id": TENTH.format("'order-1'"),
    "parent_id": TENTH.format(f"'{PARENT}'"),
    "payload": "'{\"n\":1}'",
}

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
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
        connection.executescript("PRAGMA synchronous = OFF; PRAGMA cache_size = -400000")
        for text in (*filled("sqlite", jobs, STATE, COLUMNS), BURY.format(letters=LETTERS)):
            connection.execute(text)
        connection.close()
        return
    import psycopg

    with psycopg.connect(url, autocommit=True) as postgres:
        postgres.execute("SET synchronous_commit = off")
        for text in (*filled("postgres", jobs, STATE, COLUMNS), BURY.format(letters=LETTERS)):
            postgres.execute(text.encode())


async def _migrated(url: str) -> None:
    store = open_store(url)
    await store.migrate()
    await store.close()
