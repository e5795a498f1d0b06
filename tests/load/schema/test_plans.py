"""No statement falls back to reading a whole table: empty, just loaded, and analysed."""

import itertools
import re
import sqlite3
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from holdfast.kernel.durable import DURABLE
from holdfast.kernel.graph.workflow_lifecycle import WORKFLOW
from holdfast.kernel.job import Failure, Spec
from holdfast.kernel.move import Change, move
from holdfast.kernel.settle import dead_letter
from holdfast.observe.metrics import Counts
from holdfast.store.port import Filter, Lease, Signal, Wanted
from holdfast.store.statements import FILTERS
from holdfast.store.store import SqlStore
from holdfast.views.metrics_gauges import read_gauges
from tests.load.conftest import postgres_site, sqlite_site
from tests.load.hands import success
from tests.load.schema.explaining import Plans, PostgresExplaining, SqliteExplaining
from tests.load.sites import Site, new_id, specs
from tests.services.postgres import Server

ROWS = 200_000
BIG = ("holdfast_job", "holdfast_event")

# Nine of ten jobs are history, as in a database that has been at work; of the rest some wait, some run.
COLUMNS = """
    id, lifecycle, task, queue, priority, state, attempt, version, tries, max_tries, losses, ready, due_at_ms,
    lease_ms, lease_owner, lease_until_ms, created_at_ms, changed_at_ms, finished_at_ms, correlation_id
"""
LOAD = """
    INSERT INTO holdfast_job ({columns})
    WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < {rows}),
    s AS (
        SELECT n, CASE n % 10 WHEN 0 THEN 'queued' WHEN 1 THEN 'running' ELSE 'succeeded' END AS state
        FROM series
    )
    SELECT
        {id}, 'durable', 'task' || (n % 7), 'default', 0, state, 1, 1, 0, 3, 0, state = 'queued', n, 60000,
        CASE state WHEN 'running' THEN 'w' END, CASE state WHEN 'running' THEN 4000000000000 END,
        n, n, CASE state WHEN 'succeeded' THEN n END, CASE n % 100 WHEN 0 THEN 'c' || (n % 1000) END
    FROM s
"""
LOAD_POSTGRES = LOAD.format(
    columns=COLUMNS, rows=ROWS, id="('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid"
)
# A tenth will do: its planner does not ask how many rows there are.
LOAD_SQLITE = LOAD.format(columns=COLUMNS, rows=ROWS // 10, id="'01900000-0000-7000-8000-' || printf('%012x', n)")
LOG = """
    INSERT INTO holdfast_event (job_id, seq, type, to_state, at_ms, actor, attempt)
    SELECT id, 1, 'job_submitted', state, created_at_ms, 'client', 1 FROM holdfast_job
"""


async def use_everything(store: SqlStore) -> None:
    """Every call of the port and of the read port, with jobs of its own so that each has something to do."""
    mark = new_id()
    await store.jobs.submit(specs(6, queue=mark, max_tries=3), op_id=f"submit-{mark}")
    await store.jobs.submit(specs(1, queue=mark, key=mark))
    await store.jobs.submit(specs(1, queue=mark, key=mark, duplicates="replace"))
    jobs = await store.jobs.claim([mark], 4, "w", start=False)
    assert len(jobs) == 4
    assert len(await store.jobs.claim(["default", mark], 2, "w")) == 2
    await store.jobs.submit([Spec(new_id(), WORKFLOW.name, "node", queue=f"{mark}-nodes")])
    assert len(await store.jobs.claim([f"{mark}-nodes"], 2, "w")) == 1
    leases = [Lease(job.id, job.attempt) for job in jobs]
    assert await store.jobs.renew("w", leases) == []
    assert len(await store.jobs.request_cancel(leases, "soft")) == 4
    await store.jobs.apply(move(DURABLE, jobs, "start", actor="w", owner="w"))
    running = await store.reads.get_many([job.id for job in jobs])
    await store.jobs.apply(success(running[:1], "w"), op_id=f"apply-{mark}")
    await store.jobs.apply(success(running[:1], "w"))
    settled = dead_letter(DURABLE, running[1], Failure("x", "permanent", "x", {}), "timeout")
    await store.jobs.apply([Change(DURABLE, settled.path, "w", [settled.move], "w")])
    await store.jobs.let_go("w", leases)
    await store.jobs.take_over([mark], 5, "w")
    await store.upkeep.lost(10)
    await store.upkeep.expired(10)
    await store.jobs.signal([Signal(jobs[0].id, 1, "job_heartbeat", "w")])
    await store.register(WORKFLOW)
    feed = store.log.feed()
    await feed.next()
    await use_reads(store, jobs[0].id)


async def use_reads(store: SqlStore, job_id: str) -> None:
    reads = store.reads
    columns = (*FILTERS, "parent_id", "id_prefix")
    for count in range(len(columns) + 1):
        for chosen in itertools.combinations(columns, count):
            given: dict[str, Any] = dict.fromkeys(chosen, "c100")
            if "state" in given:
                given["states"] = (given.pop("state"), "queued")
            if "parent_id" in given:
                given["parent_id"] = job_id
            if "id_prefix" in given:
                given["id_prefix"] = "0190"
            await reads.list(Filter(**given), limit=20, steps=1_000)
    await reads.task_names()
    await reads.key_scopes()
    await reads.events_since(["job_claimed"], 1, cap=10)
    await reads.signals_of_type(job_id, "job_log")
    await reads.last_signals([job_id], "job_progress")
    await reads.get(job_id)
    await reads.events(job_id)
    await reads.attempts(job_id)
    await reads.signals(job_id)
    await reads.events_by_type("job_claimed", since_ms=1, limit=10)
    await reads.events_by_correlation("c100", limit=10)
    await reads.dead()
    await reads.key_holder("work", job_id)
    await reads.lifecycles()
    await reads.counts(cap=10)
    await reads.log(0, 10)
    await reads.seals()
    await reads.last_seal()
    await reads.seal_of(1)
    await reads.purges()
    await reads.live_keys_twice()
    await reads.dead_mismatches()
    await anext(reads.all_jobs(batch=10))
    await anext(reads.all_events(batch=10))
    await store.admin.dead.page(Wanted(task="task1"), steps=100)
    await store.admin.dead.groups()
    await store.admin.queues.leases()
    await read_gauges(store, Counts(), [])


HOT = {
    "claim", "claim_turns", "apply", "submit", "renew", "lost", "expired", "stand", "take_over", "let_go",
    "request_cancel", "next_lanes", "get_many", "events", "events_by_type", "events_by_correlation", "feed",
    "op_take", "bury",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.rule("D20")
async def test_postgres(wide_postgres: Server) -> None:
    site = postgres_site(wide_postgres)
    made = site.open()
    await made.migrate()
    await made.close()
    connection = await asyncpg.connect(site.address)
    try:
        # The stages are ours to choose: nobody may analyse in between.
        for table in ("holdfast_job", "holdfast_event_default"):
            await connection.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
        _check_postgres("empty", await postgres_plans(site))
        await connection.execute(LOAD_POSTGRES)
        await connection.execute(f"{LOG} WHERE version = 1 AND task <> 'work'")
        _check_postgres("loaded", await postgres_plans(site))
        await connection.execute("ANALYZE")
        _check_postgres("analysed", await postgres_plans(site))
    finally:
        await connection.close()


async def postgres_plans(site: Site) -> Plans:
    driver = PostgresExplaining(site.address)
    try:
        await use_everything(SqlStore(driver))
        return driver.plans
    finally:
        await driver.close()


def _check_postgres(stage: str, plans: Plans) -> None:
    assert plans.keys() >= HOT
    scan = re.compile(rf"Seq Scan ({'|'.join(BIG)})")
    scans = {name: plan for name, found in plans.items() for plan in found if scan.search(plan)}
    assert scans == {}, f"{stage}: whole tables are read"
    for plan in plans["claim"] + plans["claim_turns"]:
        assert "Index Scan holdfast_job holdfast_job_ready" in plan, f"{stage}:\n{plan}"
        assert not re.search(r"^ *(Incremental )?Sort", plan, re.MULTILINE), f"{stage}:\n{plan}"
        assert "Bitmap" not in plan, f"{stage}:\n{plan}"
    for name in ("apply", "renew", "get_many", "stand"):
        _served(stage, plans, name, "holdfast_job_pkey")
    for name in ("lost", "leases", "leased_by_task", "leased_by_queue"):
        _served(stage, plans, name, "holdfast_job_lease")
    for name in ("dead_page", "dead_floor", "dead_groups"):
        _served(stage, plans, name, "holdfast_dead_at")
    _served(stage, plans, "expired", "holdfast_job_expiry")
    _served(stage, plans, "next_lanes", "holdfast_job_ready")
    _served(stage, plans, "feed", "pos_idx")
    # Events by job, by type and by correlation.
    _served(stage, plans, "events", "holdfast_event_default_pkey")
    _served(stage, plans, "events_by_type", "type_at_ms_idx")
    _served(stage, plans, "events_by_correlation", "holdfast_job_correlation")
    _served(stage, plans, "events_by_correlation", "holdfast_event_default_pkey")
    _check_walks(stage, plans, POSTGRES_WALKS, sorts="Sort")


POSTGRES_WALKS = {
    "id": "Index (Only )?Scan holdfast_job holdfast_job_pkey",
    "state": "Index (Only )?Scan holdfast_job holdfast_job_state",
    "task": "Index (Only )?Scan holdfast_job holdfast_job_task",
    "correlation_id": "Index (Only )?Scan holdfast_job holdfast_job_correlation",
    "parent_id": "Index (Only )?Scan holdfast_job holdfast_job_parent",
    "key": "Index (Only )?Scan holdfast_job holdfast_job_key",
}
SQLITE_WALKS = {
    "id": r"USING (COVERING )?INDEX sqlite_autoindex_holdfast_job_1 \(\(?id\)?>",
    "state": r"USING (COVERING )?INDEX holdfast_job_state \(\(state,id\)>",
    "task": r"USING (COVERING )?INDEX holdfast_job_task \(\(task,id\)>",
    "correlation_id": r"USING (COVERING )?INDEX holdfast_job_correlation \(\(correlation_id,id\)>",
    "parent_id": r"USING (COVERING )?INDEX holdfast_job_parent \(\(parent_id,id\)>",
    "key": r"USING (COVERING )?INDEX holdfast_job_key \(key_scope=\? AND key=\? AND id>",
}


def _check_walks(stage: str, plans: Plans, walks: dict[str, str], sorts: str) -> None:
    """A page is a stretch of the index that it walks along, whatever else it is filtered by, and sorts nothing."""
    seen = set()
    for name, found in plans.items():
        statement, _, walk = name.partition("@")
        if statement in ("list", "floor", "counts"):
            along = walk.partition("+")[0]
            seen.add((statement, along))
            for plan in found:
                assert re.search(walks[along], plan), f"{stage} {name}:\n{plan}"
                if statement != "counts":
                    assert sorts not in plan, f"{stage} {name}: a page sorts more than it shows\n{plan}"
    assert seen >= {("list", along) for along in walks} | {("floor", "state"), ("floor", "id"), ("counts", "state")}


def _served(stage: str, plans: Plans, name: str, index: str) -> None:
    for plan in plans[name]:
        assert index in plan, f"{stage} {name} without {index}:\n{plan}"


@pytest.mark.slow
@pytest.mark.rule("D20")
async def test_sqlite(tmp_path: Path) -> None:
    site = sqlite_site(tmp_path)
    store = site.open()
    await store.migrate()
    await store.close()
    connection = sqlite3.connect(site.address, isolation_level=None)
    connection.executescript("PRAGMA synchronous = OFF; PRAGMA cache_size = -400000")
    for stage in ("empty", "loaded", "analysed"):
        if stage == "loaded":
            connection.execute(LOAD_SQLITE)
            connection.execute(f"{LOG} WHERE version = 1 AND task <> 'work'")
        if stage == "analysed":
            connection.execute("ANALYZE")
        driver = SqliteExplaining(site.address)
        await use_everything(SqlStore(driver))
        await driver.close()
        plans = driver.plans
        assert plans.keys() >= HOT - {"submit"}
        # By name or by alias; `j` may also be a handful of rows that were looked up before.
        scan = re.compile(rf"^SCAN ({'|'.join(BIG)}|e|j)\b(?! USING)", re.MULTILINE)
        scans = {
            name: plan
            for name, found in plans.items()
            for plan in found
            if scan.search(plan.replace("SCAN j", "") if "MATERIALIZE j" in plan else plan)
        }
        assert scans == {}, f"{stage}: whole tables are read"
        for plan in plans["claim"] + plans["claim_turns"]:
            assert "USING COVERING INDEX holdfast_job_ready" in plan or "USING INDEX holdfast_job_ready" in plan, plan
            assert "TEMP B-TREE" not in plan, f"{stage}:\n{plan}"
        for name in ("lost", "leases", "leased_by_task", "leased_by_queue"):
            _served(stage, plans, name, "holdfast_job_lease")
        for name in ("dead_page", "dead_floor", "dead_groups"):
            _served(stage, plans, name, "holdfast_dead_at")
        _served(stage, plans, "expired", "holdfast_job_expiry")
        _served(stage, plans, "next_lanes", "holdfast_job_ready")
        _served(stage, plans, "events", "sqlite_autoindex_holdfast_event_1")
        _served(stage, plans, "events_by_type", "holdfast_event_type")
        _served(stage, plans, "events_by_correlation", "holdfast_job_correlation")
        _served(stage, plans, "feed", "INTEGER PRIMARY KEY")
        _check_walks(stage, plans, SQLITE_WALKS, sorts="TEMP B-TREE")
    connection.close()
