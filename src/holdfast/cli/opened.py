"""Opening the database for a command: never made by looking at it, and told in plain words when it fails."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from holdfast.cli.exits import UnavailableError, one_line
from holdfast.config import sqlite_path, without_password
from holdfast.kernel.errors import StoreError

if TYPE_CHECKING:
    from holdfast.store.port import Schema, Store

CONNECT_TIMEOUT_S = 10
MAGIC = b"SQLite format 3\0"
MIGRATE = "run `holdfast db migrate`"


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Store]:
    """The store, once its database is there and its schema is ours. Nothing is created or changed."""
    refuse_missing(url)
    with plainly(url):
        from holdfast.store.open import open_store

        store = open_store(url)
        try:
            schema = await schema_of(store)
            refuse_other_schema(url, schema)
            yield store
        finally:
            await store.close()


def refuse_missing(url: str) -> None:
    """SQLite makes a file for whoever opens one: look before."""
    path = sqlite_path(url)
    if path is None:
        return
    if not path.exists():
        raise UnavailableError(f"there is no database at {path}", remedy=f"to make one, {MIGRATE}")
    try:
        with path.open("rb") as file:
            head = file.read(len(MAGIC))
    except OSError as error:
        raise UnavailableError(
            f"{path} cannot be read: {error.strerror}", remedy="check its path and rights"
        ) from error
    if not head:
        raise UnavailableError(f"{path} is an empty file", remedy=MIGRATE)
    if head != MAGIC:
        raise StoreError(f"{path} is not a SQLite database, or its header is damaged", remedy="restore a backup")


def refuse_other_schema(url: str, schema: Schema) -> None:
    schema.refuse_unknown()
    if not schema.applied:
        raise UnavailableError(f"{without_password(url)} has no Holdfast tables yet", remedy=MIGRATE)
    if schema.pending:
        raise UnavailableError(f"{without_password(url)} lacks migrations: {', '.join(schema.pending)}", remedy=MIGRATE)


async def schema_of(store: Store) -> Schema:
    """What the database's schema is, by reading alone."""
    async with asyncio.timeout(CONNECT_TIMEOUT_S):
        return await store.schema()


@contextmanager
def plainly(url: str) -> Iterator[None]:
    """What a database can throw at us, as an error that says what to do."""
    shown = without_password(url)
    try:
        yield
    except BrokenPipeError:
        raise
    except sqlite3.DatabaseError as error:
        raise _sqlite_error(shown, error) from error
    except TimeoutError as error:
        raise UnavailableError(
            f"{shown} did not answer within {CONNECT_TIMEOUT_S} s", remedy="check that it runs"
        ) from error
    except OSError as error:
        raise UnavailableError(
            f"{shown} cannot be reached: {one_line(error)}", remedy="check that it runs, and the address"
        ) from error
    except Exception as error:
        # PostgreSQL's own errors, without importing its driver for those who use SQLite.
        if isinstance(state := getattr(error, "sqlstate", None), str) and _is_about_connecting(state):
            raise UnavailableError(
                f"{shown} refuses: {one_line(error)}", remedy="check the address, the user and the database"
            ) from error
        raise


def _sqlite_error(shown: str, error: sqlite3.DatabaseError) -> StoreError | UnavailableError:
    message = one_line(error)
    if isinstance(error, sqlite3.OperationalError) and "malformed" not in message:
        return UnavailableError(f"{shown} cannot be used: {message}", remedy="check its path, rights and disk")
    return StoreError(f"{shown} is damaged: {message}", remedy="see `holdfast db check`, then restore a backup")


def _is_about_connecting(sqlstate: str) -> bool:
    # Connection, authorization, no such database, no such role or right, resources, operator's shutdown.
    return sqlstate[:2] in {"08", "28", "3D", "53", "57"} or sqlstate == "42501"
