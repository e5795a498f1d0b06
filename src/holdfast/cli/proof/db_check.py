"""What `holdfast db check` looks at: reachable, server, schema, integrity."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from holdfast.cli.exits import one_line
from holdfast.cli.opened import CONNECT_TIMEOUT_S, MIGRATE, plainly, refuse_missing, schema_of
from holdfast.config import sqlite_path, without_password

SHOWN_PROBLEMS = 5


class Finding(NamedTuple):
    check: str
    ok: bool
    detail: str


async def findings(url: str) -> list[Finding]:
    """One finding per check. Raises UnavailableError or StoreError where nothing could be checked at all."""
    refuse_missing(url)
    path = sqlite_path(url)
    with plainly(url):
        if path is None:
            found = await _postgres(url)
        else:
            found = await asyncio.to_thread(_sqlite, path)
            if not all(finding.ok for finding in found):
                return found  # what a damaged file says about its schema is worth nothing
        found.append(await _schema(url))
    return found


async def _schema(url: str) -> Finding:
    from holdfast.store.open import open_store

    store = open_store(url)
    try:
        schema = await schema_of(store)
    finally:
        await store.close()
    if refusal := schema.refusal():
        return Finding("schema", False, str(refusal))
    if schema.pending:
        first, *_, last = (*schema.pending, schema.pending[-1])
        names = first if first == last else f"{first} to {last}"
        return Finding("schema", False, f"pending: {names} ({len(schema.pending)}); {MIGRATE}")
    return Finding("schema", True, f"up to date, at {schema.applied[-1]}")


def _sqlite(path: Path) -> list[Finding]:
    size = path.stat().st_size
    reachable = Finding("reachable", True, f"{path}, {size:,} bytes")
    version = Finding("server", True, f"SQLite {sqlite3.sqlite_version}")
    try:
        problems = _quick_check(path)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        problems = [one_line(error)]
    if problems:
        shown = "; ".join(problems[:SHOWN_PROBLEMS])
        more = f" and {len(problems) - SHOWN_PROBLEMS} more" if len(problems) > SHOWN_PROBLEMS else ""
        detail = f"the file is damaged: {shown}{more}; restore a backup"
        return [reachable, version, Finding("integrity", False, detail)]
    return [reachable, version, Finding("integrity", True, "quick_check found nothing")]


def _quick_check(path: Path) -> list[str]:
    """What SQLite finds wrong with its own file. It is opened for reading only."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        connection.execute("PRAGMA busy_timeout = 10000")
        rows = [one_line(row[0]) for row in connection.execute("PRAGMA quick_check")]
        [(pages,)], [(page_size,)] = (connection.execute(f"PRAGMA {n}").fetchall() for n in ("page_count", "page_size"))
    problems = [] if rows == ["ok"] else rows
    if (missing := pages * page_size - path.stat().st_size) > 0 and not _has_log(path):
        problems.append(f"truncated: {missing:,} bytes of {pages * page_size:,} are missing")
    return problems


def _has_log(path: Path) -> bool:
    """Pages that are still in the write-ahead log are not missing from the file."""
    log = path.with_name(f"{path.name}-wal")
    return log.exists() and log.stat().st_size > 0


async def _postgres(url: str) -> list[Finding]:
    import asyncpg

    connection = await asyncpg.connect(url, timeout=CONNECT_TIMEOUT_S)
    try:
        version = await connection.fetchval("SHOW server_version")
        read_only = await connection.fetchval("SELECT pg_is_in_recovery()")
        checksums = await connection.fetchval("SHOW data_checksums")
    finally:
        await connection.close()
    words = "a standby: it takes no writes; use the primary" if read_only else "takes writes"
    return [
        Finding("reachable", True, without_password(url)),
        Finding("server", not read_only, f"PostgreSQL {version}, {words}"),
        Finding("integrity", True, f"left to the server: data checksums are {checksums}"),
    ]
