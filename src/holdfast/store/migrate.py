"""Migrations go forward only, each in one transaction with the record that it was applied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.kernel.errors import StoreError
from holdfast.store.script import Query, Script
from holdfast.store.statements import migrations

if TYPE_CHECKING:
    from holdfast.store.database import Driver


async def applied(driver: Driver) -> list[str]:
    """The names of the migrations that this database has."""
    return [row[0] for row in await driver.write(_names())]


async def pending(driver: Driver) -> list[str]:
    """The migrations that this version knows and this database lacks; StoreError when it has unknown ones."""
    known = [name for name, _ in migrations(driver.dialect.name)]
    have = await applied(driver)
    if ahead := [name for name in have if name not in known]:
        raise StoreError(
            f"the database has migrations that this version does not know: {', '.join(ahead)}",
            remedy="use the version of Holdfast that made them, or a later one",
        )
    return [name for name in known if name not in have]


async def migrate(driver: Driver) -> list[str]:
    texts = dict(migrations(driver.dialect.name))
    done = []
    for name in await pending(driver):
        if await driver.run_ddl(texts[name], name):
            done.append(name)
    return done


def _names() -> Script[list[Any]]:
    yield Query("migration_table")
    rows = yield Query("migration_names")
    return rows
