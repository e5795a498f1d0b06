"""Migrations go forward only, each in one transaction with the record that it was applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.store.port import Schema
from holdfast.store.script import rows_of
from holdfast.store.statements import migrations

if TYPE_CHECKING:
    from holdfast.store.database import Driver


async def schema_of(driver: Driver) -> Schema:
    """How the schema stands, by reading alone: a database without our tables has nothing of it."""
    try:
        have = [row[0] for row in await driver.read(rows_of("migration_names"))]
    except Exception as error:
        if not driver.dialect.is_missing_table(error):
            raise
        have = []
    known = [name for name, _ in migrations(driver.dialect.name)]
    return Schema(have, [name for name in known if name not in have], [name for name in have if name not in known])


async def migrate(driver: Driver) -> list[str]:
    """StoreError when the database has migrations that this version does not know."""
    await driver.write(rows_of("migration_table"))
    schema = await schema_of(driver)
    schema.refuse_unknown()
    texts = dict(migrations(driver.dialect.name))
    return [name for name in schema.pending if await driver.run_ddl(texts[name], name)]
