"""Migrations: a broken one leaves nothing behind, rivals do not collide, and other versions' databases are known."""

import asyncio
import sqlite3
from collections.abc import Sequence
from typing import Any

import asyncpg
import pytest

from holdfast.kernel.errors import StoreError
from holdfast.store import migrate as migrating
from holdfast.store.migrate import BEFORE, START
from holdfast.store.statements import migrations
from tests.load.conftest import migrated, postgres_site
from tests.load.crew import Crew
from tests.load.schema.catalogs import postgres_catalog, sqlite_catalog
from tests.load.sites import Site, specs
from tests.services.postgres import Server

NEXT = "9999_of_the_test"
TABLE = "CREATE TABLE holdfast_added (id integer PRIMARY KEY);\n"
GOOD = f"-- A table.\n{TABLE}CREATE INDEX added_id ON holdfast_added (id);\n"
BAD = GOOD + TABLE

SINCE = [name for name, _ in migrations("sqlite") if name != START]


def catalog(site: Site) -> dict[str, list[tuple[Any, ...]]]:
    if site.kind == "sqlite":
        return sqlite_catalog(site.address)
    return asyncio.run(postgres_catalog(site.address))


def executed(site: Site, statement: str) -> None:
    """As somebody else would, past the store."""
    if site.kind == "sqlite":
        with sqlite3.connect(site.address) as connection:
            connection.executescript(statement)
        connection.close()
        return

    async def run() -> None:
        connection = await asyncpg.connect(site.address)
        await connection.execute(statement)
        await connection.close()

    asyncio.run(run())


def says(site: Site, names: Sequence[str]) -> None:
    """Let a database say that it has had these migrations."""
    values = ", ".join(f"('{name}')" for name in names)
    executed(site, f"DELETE FROM holdfast_migration; INSERT INTO holdfast_migration VALUES {values}")


async def migrate(site: Site) -> list[str]:
    store = site.open()
    try:
        return await store.migrate()
    finally:
        await store.close()


def known(dialect: str, *more: tuple[str, str]) -> list[tuple[str, str]]:
    return [*migrations(dialect), *more]


def test_the_comparison_sees_a_difference(wide_postgres: Server) -> None:
    changes = {
        "ALTER TABLE holdfast_job ADD COLUMN more text": "columns",
        "ALTER TABLE holdfast_rest ALTER COLUMN due_at_ms SET NOT NULL": "columns",
        "ALTER TABLE holdfast_log ALTER COLUMN schema_version SET DEFAULT 2": "columns",
        "DROP INDEX holdfast_lease_until": "indexes",
        "ALTER TABLE holdfast_dead DROP CONSTRAINT holdfast_dead_pkey": "constraints",
        "ALTER TABLE holdfast_job SET (fillfactor = 50)": "relations",
        "ALTER SEQUENCE holdfast_log_pos CACHE 20": "sequences",
        "CREATE FUNCTION more() RETURNS integer LANGUAGE sql AS 'SELECT 1'": "functions",
    }
    site = migrated(postgres_site(wide_postgres))

    async def compare() -> None:
        connection = await asyncpg.connect(site.address)
        for change, what in changes.items():
            before = await postgres_catalog(site.address)
            await connection.execute(change)
            assert (await postgres_catalog(site.address))[what] != before[what], change
        await connection.close()

    asyncio.run(compare())


def test_migrating_twice_changes_nothing(empty_site: Site) -> None:
    names = [name for name, _ in migrations(empty_site.kind)]
    assert asyncio.run(migrate(empty_site)) == names
    before = catalog(empty_site)
    assert asyncio.run(migrate(empty_site)) == []
    assert catalog(empty_site) == before


def test_a_migration_that_fails_leaves_nothing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    before = catalog(site)
    monkeypatch.setattr(migrating, "migrations", lambda dialect: known(dialect, (NEXT, BAD)))
    with pytest.raises(Exception, match="already exists"):
        asyncio.run(migrate(site))
    assert catalog(site) == before
    monkeypatch.setattr(migrating, "migrations", lambda dialect: known(dialect, (NEXT, GOOD)))
    assert asyncio.run(migrate(site)) == [NEXT]
    assert "holdfast_added" in str(catalog(site))


SLOW = {
    "sqlite": """
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000000)
        SELECT count(*) FROM n
    """,
    "postgres": "SELECT pg_sleep(1.5)",
}


@pytest.mark.slow
def test_a_migrator_that_is_killed_leaves_nothing(site: Site, hands: Crew, monkeypatch: pytest.MonkeyPatch) -> None:
    hand = hands.start("ddl", site, text=f"{GOOD}{SLOW[site.kind]};\n")
    hand.wait_for("ready")
    asyncio.run(asyncio.sleep(0.4))
    assert not hand.said("migrated")
    hand.kill()
    monkeypatch.setattr(migrating, "migrations", lambda dialect: known(dialect, (NEXT, GOOD)))
    # The same tables again: anything left behind would be in the way. On PostgreSQL the next migrator waits
    # until the server has noticed that its rival is dead.
    assert asyncio.run(migrate(site)) == [NEXT]
    assert "holdfast_added" in str(catalog(site))


@pytest.mark.slow
def test_eight_migrators_at_once(empty_site: Site, hands: Crew) -> None:
    with hands.held_back():
        for _ in range(8):
            hands.start("migrator", empty_site)
        for hand in hands.hands:
            hand.wait_for("ready")
    hands.join()
    done = sorted(name for _, [names] in hands.said("migrated") for name in names)
    assert done == [name for name, _ in migrations(empty_site.kind)], "each by exactly one of them"

    async def works() -> None:
        store = empty_site.open()
        assert len(await store.jobs.submit(specs(3))) == 3
        await store.close()

    asyncio.run(works())


def test_a_database_of_a_newer_version_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrating, "migrations", lambda dialect: known(dialect, (NEXT, GOOD)))
    assert asyncio.run(migrate(site)) == [NEXT]
    monkeypatch.undo()
    with pytest.raises(StoreError, match=f"newer than this Holdfast.*{NEXT}") as refused:
        asyncio.run(migrate(site))
    assert refused.value.remedy


def test_a_database_that_had_every_migration_from_before_the_first_release_goes_on(site: Site) -> None:
    async def submit() -> int:
        store = site.open()
        await store.jobs.submit(specs(3))
        jobs = [job async for batch in store.reads.all_jobs() for job in batch]
        await store.close()
        return len(jobs)

    assert asyncio.run(submit()) == 3
    says(site, [*BEFORE[site.kind], *SINCE])
    before = catalog(site)
    assert asyncio.run(migrate(site)) == []
    assert catalog(site) == before
    assert asyncio.run(submit()) == 6


def test_it_takes_the_migrations_that_came_later(empty_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as then:
        then.setattr(migrating, "migrations", lambda dialect: migrations(dialect)[:1])
        assert asyncio.run(migrate(empty_site)) == [START]
    says(empty_site, BEFORE[empty_site.kind])
    assert asyncio.run(migrate(empty_site)) == SINCE
    assert asyncio.run(migrate(empty_site)) == []


def test_it_takes_one_that_is_still_to_come(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    says(site, [*BEFORE[site.kind], *SINCE])
    monkeypatch.setattr(migrating, "migrations", lambda dialect: known(dialect, (NEXT, GOOD)))
    assert asyncio.run(migrate(site)) == [NEXT]
    assert asyncio.run(migrate(site)) == []


def test_a_database_that_had_only_some_of_them_is_refused(site: Site) -> None:
    for count in range(1, len(BEFORE[site.kind])):
        says(site, BEFORE[site.kind][:count])
        before = catalog(site)
        with pytest.raises(StoreError, match="older than any release") as refused:
            asyncio.run(migrate(site))
        assert BEFORE[site.kind][count - 1] in refused.value.message
        assert "db migrate" in str(refused.value.remedy)
        assert "new database" in str(refused.value.remedy)
        assert catalog(site) == before
