"""What `holdfast doctor` looks at."""

from __future__ import annotations

import platform
import shutil
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from holdfast import catalog
from holdfast.cli.exits import one_line
from holdfast.cli.opened import CONNECT_TIMEOUT_S, MIGRATE, opened, plainly
from holdfast.config import sqlite_path, without_password
from holdfast.kernel.errors import HoldfastError
from holdfast.views.phrases import span

if TYPE_CHECKING:
    from holdfast.store.port import Store

PYTHON = (3, 11)
SKEW_WARN_MS, SKEW_BAD_MS = 1_000, 30_000
STALE_WARN_MS, STALE_BAD_MS = 60_000, 3_600_000
UNSEALED_WARN, UNSEALED_BAD = 100_000, 5_000_000
DISK_WARN_BYTES, DISK_BAD_BYTES = 2 << 30, 200 << 20


class Look(NamedTuple):
    """One line: ok, warn or bad, what was found, and what helps."""

    check: str
    level: str
    detail: str
    remedy: str | None = None


async def checkup(url: str, app: str | None) -> list[Look]:
    """Every look that can be had: what cannot be reached is one bad line, and ends the list."""
    found = [_python(), _sqlite_version()]
    found += _systems()
    try:
        path = sqlite_path(url)
        async with opened(url) as store:
            found.append(Look("database", "ok", without_password(url)))
            found.append(Look("schema", "ok", "up to date"))
            with plainly(url):
                found += _sqlite(path) if path is not None else await _postgres(url)
            found += await _jobs(store, app or "module:app")
            for check in catalog.brought("checks"):
                found += await check(store)
    except HoldfastError as error:
        check = "schema" if MIGRATE in str(error.remedy) and "no database" not in error.message else "database"
        found.append(Look(check, "bad", one_line(error.message), error.remedy))
    return found


def _python() -> Look:
    version = f"{platform.python_version()} ({sys.executable})"
    if sys.version_info < PYTHON:
        return Look("python", "bad", version, "use Python 3.11 or later")
    return Look("python", "ok", version)


def _sqlite_version() -> Look:
    from holdfast.store.open import OLDEST_SQLITE as OLDEST

    have = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info < OLDEST:
        needed = ".".join(map(str, OLDEST))
        return Look("sqlite", "bad", f"{have}, {needed} is needed", "use a Python with a newer SQLite, or PostgreSQL")
    return Look("sqlite", "ok", have)


def _systems() -> list[Look]:
    """Plugins that are left out, whole or in part: each is let in everywhere where it would join."""
    if catalog.plugins():
        from holdfast.api.routes import served
        from holdfast.cli.app import join_plugins

        join_plugins()
        served()
    return [Look("system", "bad", f"{system} is left out: {why}", catalog.MEND) for system, why in catalog.refused()]


def _sqlite(path: Path) -> list[Look]:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        [(journal,)] = connection.execute("PRAGMA journal_mode").fetchall()
    free = shutil.disk_usage(path.parent).free
    wal = path.with_name(f"{path.name}-wal")
    log = f", {wal.stat().st_size / 1e6:,.1f} MB of log" if wal.exists() else ""
    return [
        Look("journal", "ok", f"write-ahead, every commit is synced{log}")
        if journal == "wal"
        else Look("journal", "warn", f"journal_mode is {journal}", "the next worker turns write-ahead logging on"),
        _graded(
            "disk",
            (-free, -DISK_WARN_BYTES, -DISK_BAD_BYTES),
            f"{path.stat().st_size / 1e6:,.1f} MB used, {free / 1e9:,.1f} GB free",
            "make room: a full disk stops every write",
        ),
    ]


async def _postgres(url: str) -> list[Look]:
    import asyncpg

    connection = await asyncpg.connect(url, timeout=CONNECT_TIMEOUT_S)
    try:
        [(version, fsync, commit, pages, standby)] = await connection.fetch(
            "SELECT current_setting('server_version'), current_setting('fsync'), "
            "current_setting('synchronous_commit'), current_setting('full_page_writes'), pg_is_in_recovery()"
        )
        before_s = time.time()
        theirs_ms = await connection.fetchval("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")
        ours_ms = (before_s + time.time()) / 2 * 1000
    finally:
        await connection.close()
    skew_ms = abs(theirs_ms - ours_ms)
    unsafe = [f"{name} is off" for name, value in (("fsync", fsync), ("full_page_writes", pages)) if value == "off"]
    return [
        Look("server", "bad", f"PostgreSQL {version}, a standby: it takes no writes", "use the primary")
        if standby
        else Look("server", "ok", f"PostgreSQL {version}"),
        _graded(
            "clock",
            (skew_ms, SKEW_WARN_MS, SKEW_BAD_MS),
            f"{skew_ms:,.0f} ms apart from the database's",
            "set this machine's clock by NTP; leases go by the database's",
        ),
        _durability(unsafe, commit),
    ]


def _durability(unsafe: list[str], commit: str) -> Look:
    if unsafe:
        return Look("durability", "bad", ", ".join(unsafe), "switch it on: a crash may lose or tear committed jobs")
    if commit == "off":
        return Look(
            "durability",
            "warn",
            "synchronous_commit is off",
            "set it to on, unless losing the last moments in a crash is fine",
        )
    return Look("durability", "ok", f"fsync is on, synchronous_commit is {commit}")


async def _jobs(store: Store, app: str) -> list[Look]:
    from holdfast.store.port import CAP
    from holdfast.views.queues import living, queues

    operating = store.admin.queues
    now_ms = await store.now_ms()
    known = await queues(store)
    alive = living(await store.admin.workers.list(), now_ms)
    due = sum(queue.depth.due for queue in known)
    return [
        _workers(len(alive), f"{due:,}{'+' if due >= CAP else ''}" if due else "", app),
        *_oldest([(q.depth.queue, q.depth.oldest_due_ms, q.pause is not None) for q in known], now_ms, app),
        _lost(await operating.lost(), len(alive), app),
        _dead(*await store.admin.dead.counts()),
        await _seals(store),
    ]


def _workers(alive: int, due: str, app: str) -> Look:
    if alive:
        return Look("workers", "ok", f"{alive} alive")
    if due:
        return Look("workers", "warn", f"none alive, and {due} jobs are due", f"holdfast worker {app}")
    return Look("workers", "ok", "none alive, and nothing is due")


def _oldest(queues: list[tuple[str, int | None, bool]], now_ms: int, app: str) -> list[Look]:
    found = []
    for name, oldest_ms, paused in queues:
        late_ms = 0 if oldest_ms is None else now_ms - oldest_ms
        if paused:
            found.append(Look("queue", "warn", f"{name!r} is paused", f"holdfast queue resume {name}"))
        elif late_ms > STALE_WARN_MS:
            level = "bad" if late_ms > STALE_BAD_MS else "warn"
            detail = f"the oldest job of {name!r} is due for {span(late_ms)}"
            found.append(Look("queue", level, detail, f"holdfast worker {app} -q {name}"))
    return found or [Look("queue", "ok", "no job is due for more than a minute")]


def _lost(lost: int, alive: int, app: str) -> Look:
    if not lost:
        return Look("leases", "ok", "none has run out")
    remedy = "the reaper takes them back within seconds" if alive else f"holdfast worker {app}"
    return Look("leases", "warn", f"{lost:,} ran out and were not taken back yet", remedy)


def _dead(waiting: int, resolved: int) -> Look:
    if waiting:
        return Look("dead letters", "warn", f"{waiting:,} wait, {resolved:,} resolved", "holdfast dead groups")
    return Look("dead letters", "ok", f"none wait, {resolved:,} resolved")


async def _seals(store: Store) -> Look:
    last = await store.reads.last_seal()
    count = await store.reads.unsealed(last.last_pos if last else 0)
    words = f"{last.number if last else 0:,} seals, {count:,} events not sealed yet"
    return _graded("seals", (count, UNSEALED_WARN, UNSEALED_BAD), words, "holdfast seal")


def _graded(check: str, figure: tuple[float, float, float], detail: str, remedy: str) -> Look:
    """A figure, and the marks beyond which it is a warning, and bad."""
    value, warn, bad = figure
    level = "bad" if value > bad else "warn" if value > warn else "ok"
    return Look(check, level, detail, None if level == "ok" else remedy)
