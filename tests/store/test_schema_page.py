"""The schema's page says what the databases say of themselves, and why each thing is there."""

import sqlite3
from pathlib import Path
from typing import Any

from tests import schema_page

Shape = dict[str, dict[str, tuple[str, bool]]]


def shape(dialect: str) -> Shape:
    """Of each table, each column's type and whether it may be null."""
    tables = schema_page.schema_of(dialect).tables
    return {name: {c: (own.type, own.null) for c, own in table.columns.items()} for name, table in tables.items()}


def indexes(dialect: str) -> set[str]:
    return {index for table in schema_page.schema_of(dialect).tables.values() for index in table.indexes}


def test_the_committed_page_is_up_to_date() -> None:
    committed = schema_page.PAGE.read_text(encoding="utf-8")
    assert committed == schema_page.page(), "run `make docs` and commit docs/reference/schema.md"


def test_it_is_the_schema_of_sqlite(sqlite_template: Path) -> None:
    connection = sqlite3.connect(sqlite_template)
    found: Shape = {}
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'holdfast%'"):
        columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
        found[table] = {name: (kind.lower(), not (needed or key)) for _, name, kind, needed, _, key in columns}
    made = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'index' AND sql <> ''")}
    connection.close()
    found.pop("holdfast_migration")
    assert shape("sqlite") == found
    assert indexes("sqlite") == made


def test_it_is_the_schema_of_postgres(postgres_suite: Any) -> None:
    rows = postgres_suite.execute(
        "SELECT relname, attname, format_type(atttypid, atttypmod), NOT attnotnull FROM pg_attribute"
        " JOIN pg_class ON pg_class.oid = attrelid WHERE relnamespace = 'public'::regnamespace"
        " AND relkind IN ('r', 'p') AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
    ).fetchall()
    found: Shape = {}
    for table, column, kind, null in rows:
        found.setdefault(table, {})[column] = (kind.replace("bit varying", "varbit"), null)
    ours = schema_page.schema_of("postgres")
    others = {name for names in ours.others.values() for name in names}
    assert shape("postgres") == {table: columns for table, columns in found.items() if table not in others | LISTS}
    made = postgres_suite.execute(
        "SELECT indexname FROM pg_indexes WHERE schemaname = 'public' AND indexname !~ '_(pkey|idx|hash_key)$'"
    ).fetchall()
    assert indexes("postgres") == {name for (name,) in made}


LISTS = {"holdfast_migration"}


def test_the_stores_have_the_same_tables_and_columns() -> None:
    """But for leases: PostgreSQL has a row for all jobs that were claimed at once, and says in the log what each is."""
    here, there = shape("postgres"), shape("sqlite")
    assert here.keys() ^ there.keys() == {"holdfast_lease", "holdfast_held"}
    for table in here.keys() & there.keys():
        alike = {name: null for name, (_, null) in here[table].items() if name not in LEASED or table != "holdfast_log"}
        assert alike == {name: null for name, (_, null) in there[table].items()}
        assert [name for name in here[table] if name in alike] == list(there[table])


LEASED = {"tries", "losses", "starts", "dues", "expiries", "outcomes"}


def test_everything_says_what_it_is_for() -> None:
    schema = schema_page.schema_of("postgres")
    assert [name for name, table in schema.tables.items() if not table.words] == []
    assert [name for table in schema.tables.values() for name, index in table.indexes.items() if not index.words] == []
    assert "" not in {*schema.others, *schema.views.values()}
    assert sum(bool(column.words) for table in schema.tables.values() for column in table.columns.values()) > 100
