"""Every statement of both stores is understood by its database, on a schema that was just made."""

import re
import sqlite3
from pathlib import Path
from typing import Any

import asyncpg
import pytest

import holdfast
from holdfast.store.macros import COLUMNS, expand
from holdfast.store.statements import FILTERS, MIGRATION, MOVES, WALKS, files, named, numbered
from holdfast.store.upkeep.purging import BELONGINGS

SOURCE = Path(holdfast.__file__).parent
VARIANTS = {
    "list": [f"list@{'+'.join((along, *FILTERS))}" for along in WALKS] + [f"list@{along}" for along in WALKS],
    "standing_list": ["standing_list@standing", f"standing_list@{'+'.join(('standing', *FILTERS))}"],
    "floor": [f"floor@{along}" for along in WALKS],
    "apply": [f"apply@{move}" for move in MOVES],
    "drop": [name for name in BELONGINGS if name.startswith("drop@")],
}

PARTS = re.compile(r"(leave|enter)_\w+")
"""What PostgreSQL's `apply` is put together from."""


OF_BEFORE = "moving"
"""Asked of a schema that is no more."""


def names(dialect: str) -> list[str]:
    """All of a store's statements, those with variants in each of them."""
    found = [name for name in files(dialect) if not MIGRATION.fullmatch(name) and name != OF_BEFORE]
    if dialect == "postgres":
        found = [name for name in found if not PARTS.fullmatch(name)]
    return [variant for name in found for variant in VARIANTS.get(name, [name])]


def test_sqlite_prepares_every_statement(sqlite_template: Path) -> None:
    connection = sqlite3.connect(sqlite_template)
    for name in names("sqlite"):
        statement = named("sqlite", name)
        connection.execute(f"EXPLAIN {statement.text}", dict.fromkeys(statement.names))
    connection.close()
    assert len(names("sqlite")) > 170


@pytest.mark.asyncio(loop_scope="session")
async def test_postgres_prepares_every_statement(postgres_suite_dsn: str) -> None:
    connection: Any = await asyncpg.connect(postgres_suite_dsn)
    for name in names("postgres"):
        statement = numbered("postgres", name)
        prepared = await connection.prepare(statement.text)
        assert len(prepared.get_parameters()) == len(statement.names), name
    await connection.close()
    assert len(names("postgres")) > 170


def test_every_statement_is_somebodys() -> None:
    code = "\n".join(path.read_text() for path in SOURCE.rglob("*.py"))
    assert [name for dialect in ("sqlite", "postgres") for name in names(dialect) if not _is_named(name, code)] == []


def _is_named(name: str, code: str) -> bool:
    if PARTS.fullmatch(name):
        return f'f"{name.partition("_")[0]}_{{' in code
    return re.search(rf"[\"']{name.partition('@')[0]}[\"'@]", code) is not None


def test_a_list_of_columns_is_said_once() -> None:
    spelled = []
    # A migration says what columns there were when it was written.
    for path in (path for path in SOURCE.rglob("*.sql") if not MIGRATION.fullmatch(path.stem)):
        text = re.sub(r"\b[a-z]+\.", "", path.read_text())
        for table, columns in COLUMNS.items():
            if re.search(r",\s+".join(columns) + r"\b", text):
                spelled.append(f"{path.name} spells out {{{table}}}")
    assert spelled == []


def test_a_macro_means_what_its_store_understands() -> None:
    text = "SELECT {flow f} FROM t AS f WHERE id {in :ids::uuid[]} AND at_ms <= {now} {lock}"
    flow = "f.id, f.on_failure, f.nodes, f.open, f.failed, f.cancelled"
    now = "coalesce(:now_ms::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)"
    assert expand("postgres", text) == (
        f"SELECT {flow} FROM t AS f WHERE id = ANY (:ids::uuid[]) AND at_ms <= {now} FOR UPDATE"
    )
    assert expand("sqlite", text).rstrip() == (
        f"SELECT {flow} FROM t AS f WHERE id IN (SELECT value FROM json_each(:ids)) AND at_ms <= :now_ms"
    )


def test_a_macro_stands_inside_another() -> None:
    text = "DELETE FROM t WHERE id {in SELECT id FROM t WHERE at_ms <= {now} LIMIT :limit::bigint}"
    assert expand("sqlite", text) == "DELETE FROM t WHERE id IN (SELECT id FROM t WHERE at_ms <= :now_ms LIMIT :limit)"


def test_an_unknown_macro_is_refused() -> None:
    with pytest.raises(LookupError, match=r"\{lokc\}"):
        expand("sqlite", "SELECT 1 {lokc}")
