"""From an address to a store, or into a caller's own transaction: here it is known which databases there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from holdfast.extras import needs
from holdfast.kernel.errors import StoreError
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.observe import redact
from holdfast.store.foreign import asubmit_in, submit_in
from holdfast.store.store import SqlStore

__all__ = ["OLDEST_SQLITE", "POSTGRES", "SQLITE", "asubmit_in", "open_store", "submit_in"]

SQLITE = "sqlite:///"
POSTGRES = ("postgresql://", "postgres://")
OLDEST_SQLITE = (3, 38, 0)
"""The first version with everything that the statements use (`->>`, RETURNING, UPDATE FROM, STRICT)."""


def open_store(
    url: str, *, clock: Callable[[], int] | None = None, tables: Mapping[str, Lifecycle] | None = None
) -> SqlStore:
    """The store at an address: `sqlite:///rel.db`, `sqlite:////abs.db`, a path, or `postgresql://…`.

    It takes jobs of these `tables` beside the built-in ones. Does not migrate.
    StoreError for any other address, MissingExtraError for PostgreSQL without its extra.
    """
    store = _opened(url, clock)
    store.know((tables or {}).values())
    return store


def _opened(url: str, clock: Callable[[], int] | None) -> SqlStore:
    if url.startswith(POSTGRES):
        redact.register_url(url)
        return _open_postgres(url, clock)
    path = url.removeprefix(SQLITE)
    if not path or "://" in path or path.startswith("sqlite:"):
        raise StoreError(
            f"{_without_secrets(url)!r} is no address of a store",
            field="db",
            remedy="use sqlite:///relative.db, sqlite:////absolute.db, a path, or postgresql://…",
        )
    from holdfast.store.sqlite.driver import open_sqlite

    return open_sqlite(Path(path), clock=clock)


def _open_postgres(url: str, clock: Callable[[], int] | None) -> SqlStore:
    with needs("postgres", "PostgreSQL", "db"):
        from holdfast.store.postgres.driver import open_postgres
    return open_postgres(url, clock=clock)


def _without_secrets(url: str) -> str:
    """An address fit for a message: what stands before the host may be a password."""
    scheme, mark, rest = url.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}"
