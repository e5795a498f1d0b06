"""Migrations go forward only, each in one transaction with the record that it was applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.store.port import Planned, Schema
from holdfast.store.script import rows_of
from holdfast.store.statements import migrations

if TYPE_CHECKING:
    from holdfast.store.database import Driver

START = "0001_schema"
PLACES = "0012_places"
EVENTS_PER_S = 50_000
"""About as many as `PLACES` moves, with their jobs: 46 s for a million jobs on two cores that had other work too."""

BEFORE = {
    "sqlite": (
        *("0001_start", "0003_kept", "0004_schedule_spec", "0005_choice", "0006_doors", "0007_graphs"),
        "0008_listing",
    ),
    "postgres": (
        *("0001_start", "0002_partitions", "0003_kept", "0004_schedule_spec", "0005_choice", "0006_doors"),
        *("0007_graphs", "0008_listing", "0009_nodes", "0010_unique_keys"),
    ),
}
"""The steps to `START` from before the first release: who has had all of them has the schema that it makes."""


async def schema_of(driver: Driver) -> Schema:
    """How the schema stands, by reading alone: a database without our tables has nothing of it."""
    try:
        have = [row[0] for row in await driver.read(rows_of("migration_names"))]
    except Exception as error:
        if not driver.dialect.is_missing_table(error):
            raise
        have = []
    known = [name for name, _ in migrations(driver.dialect.name)]
    before = BEFORE[driver.dialect.name]
    if set(have) >= set(before):
        have = [START, *(name for name in have if name not in before)]
    unknown = [name for name in have if name not in known]
    return Schema(have, [n for n in known if n not in have], unknown, early=not set(before).isdisjoint(unknown))


async def plan(driver: Driver) -> list[Planned]:
    """StoreError when the database has migrations that this version does not know."""
    schema = await schema_of(driver)
    schema.refuse_unknown()
    jobs = events = 0
    if START in schema.applied and PLACES in schema.pending:
        [(jobs, events)] = await driver.read(rows_of("moving"))
    moved = Planned(PLACES, jobs, events, -(-events // EVENTS_PER_S))
    return [moved if name == PLACES else Planned(name, 0, 0, 0) for name in schema.pending]


async def migrate(driver: Driver) -> list[str]:
    """StoreError when the database has migrations that this version does not know."""
    await driver.write(rows_of("migration_table"))
    schema = await schema_of(driver)
    schema.refuse_unknown()
    texts = dict(migrations(driver.dialect.name))
    return [name for name in schema.pending if await driver.run_ddl(texts[name], name)]
