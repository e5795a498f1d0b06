"""What a database says of its own tables: columns, types, defaults, indexes, constraints, options."""

import re
import sqlite3
from typing import Any

import asyncpg

POSTGRES = {
    "columns": """
        SELECT table_name, column_name, ordinal_position, data_type, is_nullable, column_default, is_identity,
            identity_generation, collation_name
        FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 3
    """,
    "indexes": """
        SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2
    """,
    "constraints": """
        SELECT conrelid::regclass::text, conname, contype::text, pg_get_constraintdef(oid)
        FROM pg_constraint WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2
    """,
    "relations": """
        SELECT relname, relkind::text, relpersistence::text, reloptions::text, relispartition,
            pg_get_expr(relpartbound, oid), pg_get_partkeydef(oid)
        FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1
    """,
    "sequences": """
        SELECT sequencename, data_type::text, start_value, increment_by, cycle, cache_size
        FROM pg_sequences WHERE schemaname = 'public' ORDER BY 1
    """,
    "triggers": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1",
    "functions": """
        SELECT oid::regprocedure::text, pg_get_functiondef(oid)
        FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1
    """,
}
LIST = "holdfast_migration"


async def postgres_catalog(dsn: str) -> dict[str, list[tuple[Any, ...]]]:
    """Everything but the list of migrations, which is made before the first of them."""
    connection = await asyncpg.connect(dsn)
    try:
        found = {}
        for what, query in POSTGRES.items():
            rows = [tuple(row) for row in await connection.fetch(query)]
            found[what] = [row for row in rows if LIST not in str(row)]
        return found
    finally:
        await connection.close()


def sqlite_catalog(path: str) -> dict[str, list[tuple[Any, ...]]]:
    connection = sqlite3.connect(path)
    try:
        master = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY 1, 2").fetchall()
        found = {"master": [(*row[:3], _plain(row[3])) for row in master if row[2] != LIST]}
        for kind, name, *_ in found["master"]:
            if kind == "table":
                found[f"columns of {name}"] = connection.execute(f"PRAGMA table_xinfo({name})").fetchall()
                found[f"indexes of {name}"] = sorted(
                    row[1:] for row in connection.execute(f"PRAGMA index_list({name})")
                )
        return found
    finally:
        connection.close()


def _plain(sql: str | None) -> str:
    """Without comments and layout: those are no difference."""
    text = re.sub(r"--[^\n]*", "", sql or "")
    return re.sub(r"\s*([(),])\s*", r"\1", re.sub(r"\s+", " ", text)).strip()
