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
BIG = ("holdfast_job", "holdfast_log", "holdfast_rest", "holdfast_ready")
BOUNDED = {"counts_standing", "counts_resting", "standing", "standing_list", "lately", "task_names", "key_scopes"}
BOUNDED |= {"live_keys_twice"}
"""No further than a cap, from name to name, or by the audit alone."""
SPAN = 4096

# Eight of ten jobs are history, as in a database that has been at work; of the rest some wait, some run. Each that was
# claimed has a row of the log, as if it had been alone.
SERIES = """
    WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < {rows}),
    s AS (
        SELECT n, {id} AS id, {low} + n * 8192 AS pos,
            CASE n % 10 WHEN 0 THEN 'queued' WHEN 1 THEN 'running' ELSE 'succeeded' END AS state
        FROM series
    )
"""
CLAIMED = '[["job_claimed","queued","assigned",0],["job_started","assigned","running",0]'
ENDED = CLAIMED + ',["job_succeeded","running","succeeded",0]]'
LOAD = (
    """
    INSERT INTO holdfast_job (
        id, pos, lifecycle, task, queue, priority, state, turn, gate, max_tries, lease_ms, due_at_ms, created_at_ms,
        correlation_id, event_type, actor
    )
    {series}
    SELECT
        id, pos, 'durable', 'task' || (n % 7), 'default', 0, 'queued', 0, '', 3, 60000, n, n,
        CASE n % 100 WHEN 0 THEN 'c' || (n % 1000) END, 'job_submitted', 'client'
    FROM s
    """,
    """
    INSERT INTO holdfast_ready (
        queue, lifecycle, state, turn, gate, due_at_ms, id, attempt, version, tries, losses, changed_at_ms, pos, moved
    )
    {series}
    SELECT 'default', 'durable', 'queued', 0, '', n, id, 1, 1, 0, 0, n, pos, {false} FROM s WHERE state = 'queued'
    """,
    """
    INSERT INTO holdfast_rest (id, state, attempt, version, tries, losses, changed_at_ms, finished_at_ms, pos)
    {series}
    SELECT id, state, 1, 4, 1, 0, n, n, pos + 4096 FROM s WHERE state = 'succeeded'
    """,
    """
    INSERT INTO holdfast_log (pos, lifecycle, path, at_ms, actor, ids, prevs, attempts, versions{more})
    {series}
    SELECT
        pos + 4096, 'durable', CASE state WHEN 'running' THEN '{claimed}' ELSE '{ended}' END, n, 'w', {list_id},
        {list_pos}, {list_1}, {list_4}{and_more}
    FROM s WHERE state <> 'queued'
    """,
)
LOAD_HELD = """
    INSERT INTO holdfast_held (
        id, queue, lifecycle, state, gate, owner, until_ms, lease_ms, attempt, version, tries, losses, changed_at_ms,
        pos
    )
    {series}
    SELECT id, 'default', 'durable', 'running', '', 'w', 4000000000000, 60000, 1, 3, 1, 0, n, pos + 4096
    FROM s WHERE state = 'running'
"""
# As one worker's: of each a lease of its own would be a crowd that nobody has.
LOAD_LEASES = """
    INSERT INTO holdfast_lease (
        pos, queue, lifecycle, state, gate, owner, until_ms, lease_ms, low, high, gone
    )
    {series}
    SELECT pos + 4096, 'default', 'durable', 'running', '', 'w', 4000000000000, 60000, id, id, B'0'
    FROM s WHERE state = 'running' AND n % 1000 = 1
"""


def _loads(kind: str, low: int) -> list[str]:
    """The same jobs in the tables of one store, behind a place in the log."""
    postgres = kind == "postgres"
    some = "ARRAY[{}]" if postgres else "json_array({})"
    # A tenth will do for SQLite: its planner does not ask how many rows there are.
    words = {
        "rows": ROWS if postgres else ROWS // 10,
        "low": low,
        "id": ID[kind],
        "false": "FALSE" if postgres else "0",
        "claimed": f"{CLAIMED}]",
        "ended": ENDED,
        "more": ", tries, losses" if postgres else "",
        "and_more": ", ARRAY[1], ARRAY[0]" if postgres else "",
        **{f"list_{what}": some.format(what) for what in ("id", "pos", "1", "4")},
    }
    words["series"] = SERIES.format(**words)
    return [text.format(**words) for text in (*LOAD, LOAD_LEASES if postgres else LOAD_HELD)]


ID = {
    "postgres": "('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid",
    "sqlite": "'01900000-0000-7000-8000-' || printf('%012x', n)",
}


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
    await anext(reads.trails(batch=10))
    await reads.trails_of([job_id])
    await store.admin.dead.page(Wanted(task="task1"), steps=100)
    await store.admin.dead.groups()
    await store.admin.queues.leases()
    await read_gauges(store, Counts(), [])


HOT = {
    "claim", "claim_turns", "submit", "renew", "lost", "expired", "stand", "lapsed_members", "request_cancel",
    "next_lanes", "get_many", "history", "rows_lately", "correlated", "feed", "op_take", "bury",
}  # fmt: skip
POSTGRES_HOT = HOT | {"apply@lease+rest", "apply@lease+lease", "places"}
SQLITE_HOT = HOT - {"submit"} | {"leave_lease", "hold", "rest", "log", "take", "let_go"}


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
        for table in (*BIG, "holdfast_lease"):
            await connection.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
        _check_postgres("empty", await postgres_plans(site))
        low = await connection.fetchval("SELECT nextval('holdfast_log_pos')")
        for text in _loads("postgres", low):
            await connection.execute(text)
        await connection.execute(f"SELECT setval('holdfast_log_pos', {low + (ROWS + 1) * 2 * SPAN})")
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
    assert plans.keys() >= POSTGRES_HOT
    tables = "|".join(BIG)
    scan = re.compile(rf"Seq Scan ({tables})\b|Index (Only )?Scan ({tables}) \w+ whole")
    scans = {name: plan for name, found in plans.items() for plan in found if scan.search(plan)}
    assert {name: plan for name, plan in scans.items() if name.partition("@")[0] not in BOUNDED} == {}, (
        f"{stage}: whole tables are read"
    )
    for plan in plans["claim"] + plans["claim_turns"]:
        assert "Index Scan holdfast_ready holdfast_ready_pkey" in plan, f"{stage}:\n{plan}"
        assert not re.search(r"Sort\n.*holdfast_ready", plan), f"{stage}:\n{plan}"
        assert "Bitmap" not in plan, f"{stage}:\n{plan}"
    for name in ("apply@lease+rest", "apply@lease+lease"):
        _served(stage, plans, name, "holdfast_lease_pkey")
    for name in ("renew", "get_many", "stand", "places"):
        _served(stage, plans, name, "holdfast_job_pkey")
    for name in ("lost", "leases", "lapsed"):
        _served(stage, plans, name, "holdfast_lease_until")
    for name in ("dead_page", "dead_floor", "dead_groups"):
        _served(stage, plans, name, "holdfast_dead_at")
    for index in ("holdfast_ready_expiry", "holdfast_rest_expiry"):
        _served(stage, plans, "expired", index)
    _served(stage, plans, "next_lanes", "holdfast_ready_pkey")
    for name in ("feed", "rows"):
        _served(stage, plans, name, "holdfast_log_pkey")
        _served(stage, plans, name, "holdfast_job_pos")
    # Events by job, by type and by correlation.
    _served(stage, plans, "history", "holdfast_log_pkey")
    _served(stage, plans, "rows_lately", "holdfast_log_at")
    _served(stage, plans, "correlated", "holdfast_job_correlation")
    _check_walks(stage, plans, POSTGRES_WALKS, sorts="Sort")


POSTGRES_WALKS = {
    "id": "Index (Only )?Scan holdfast_job holdfast_job_pkey",
    "state": "Index (Only )?Scan holdfast_rest holdfast_rest_state",
    "task": "Index (Only )?Scan holdfast_job holdfast_job_task",
    "correlation_id": "Index (Only )?Scan holdfast_job holdfast_job_correlation",
    "parent_id": "Index (Only )?Scan holdfast_job holdfast_job_parent",
    "key": "Index (Only )?Scan holdfast_job holdfast_job_key",
}
SQLITE_WALKS = {
    "id": r"USING (COVERING )?INDEX sqlite_autoindex_holdfast_job_1 \(\(?id\)?>",
    "state": r"USING (COVERING )?INDEX holdfast_rest_state \(\(state,id\)>",
    "task": r"USING (COVERING )?INDEX holdfast_job_task \(\(task,id\)>",
    "correlation_id": r"USING (COVERING )?INDEX holdfast_job_correlation \(\(correlation_id,id\)>",
    "parent_id": r"USING (COVERING )?INDEX holdfast_job_parent \(\(parent_id,id\)>",
    "key": r"USING (COVERING )?INDEX holdfast_job_key \(key_scope=\? AND key=\? AND id>",
}


def _check_walks(stage: str, plans: Plans, walks: dict[str, str], sorts: str) -> None:
    """A page is a stretch of the index that it walks along, whatever else it is filtered by; none but it is sorted."""
    seen = set()
    for name, found in plans.items():
        statement, _, walk = name.partition("@")
        if statement in ("list", "floor"):
            along = walk.partition("+")[0]
            seen.add((statement, along))
            for plan in found:
                assert re.search(walks[along], plan), f"{stage} {name}:\n{plan}"
                if statement == "floor":
                    assert sorts not in plan, f"{stage} {name}: it sorts what it passes over\n{plan}"
    assert seen >= {("list", along) for along in walks if along != "state"} | {("floor", "id")}


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
            [(low,)] = connection.execute(f"SELECT max(pos) + {SPAN} FROM holdfast_log").fetchall()
            for text in _loads("sqlite", low):
                connection.execute(text)
        if stage == "analysed":
            connection.execute("ANALYZE")
        driver = SqliteExplaining(site.address)
        await use_everything(SqlStore(driver))
        await driver.close()
        plans = driver.plans
        assert plans.keys() >= SQLITE_HOT
        scan = re.compile(rf"^SCAN ({'|'.join(BIG)}|holdfast_row)\b(?! USING)", re.MULTILINE)
        scans = {name: plan for name, found in plans.items() for plan in found if scan.search(plan)}
        assert {name: plan for name, plan in scans.items() if name.partition("@")[0] not in BOUNDED} == {}, (
            f"{stage}: tables are read"
        )
        for plan in plans["claim"] + plans["claim_turns"]:
            assert "SEARCH ready USING PRIMARY KEY (queue=? AND lifecycle=? AND state=?" in plan, f"{stage}:\n{plan}"
            assert "TEMP B-TREE" not in plan, f"{stage}:\n{plan}"
        for name in ("dead_page", "dead_floor", "dead_groups"):
            _served(stage, plans, name, "holdfast_dead_at")
        for index in ("holdfast_ready_expiry", "holdfast_rest_expiry"):
            _served(stage, plans, "expired", index)
        _served(stage, plans, "next_lanes", "holdfast_ready USING PRIMARY KEY")
        _served(stage, plans, "history", "SEARCH log USING INTEGER PRIMARY KEY")
        _served(stage, plans, "rows_lately", "holdfast_log_at")
        _served(stage, plans, "correlated", "holdfast_job_correlation")
        for name in ("feed", "rows"):
            _served(stage, plans, name, "MERGE (UNION ALL)")
        _check_walks(stage, plans, SQLITE_WALKS, sorts="TEMP B-TREE")
    connection.close()
