"""Submit inside the caller's own PostgreSQL transaction: the job exists exactly when what it belongs to does.

Works with psycopg, asyncpg, and SQLAlchemy connections on top of either. The transaction stays the caller's: nothing is
committed here, and workers are not woken before it is.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, cast

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.job import Spec
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.observe import tracing
from holdfast.store.jobs.admission import Admission
from holdfast.store.postgres.dialect import PostgresDialect
from holdfast.store.script import Query
from holdfast.store.statements import PARAMETER, named, numbered


def submit_in(connection: Any, specs: Sequence[Spec], tables: Mapping[str, Lifecycle]) -> None:
    """Write jobs and their first events through a synchronous connection."""
    raw = _driver_connection(connection)
    if _kind(raw) != "psycopg" or inspect.iscoroutinefunction(raw.execute):
        raise _unusable(connection, "asubmit")
    if specs:
        query = _query(specs, tables)
        raw.execute(_percent(query.name), {name: _plain(value) for name, value in query.params.items()})


async def asubmit_in(connection: Any, specs: Sequence[Spec], tables: Mapping[str, Lifecycle]) -> None:
    """The same through an asynchronous one."""
    raw = await _async_driver_connection(connection)
    query = _query(specs, tables) if specs else None
    match _kind(raw):
        case "asyncpg" if query:
            statement = numbered("postgres", query.name)
            await raw.fetch(statement.text, *[query.params[name] for name in statement.names])
        case "psycopg" if query and inspect.iscoroutinefunction(raw.execute):
            await raw.execute(_percent(query.name), {name: _plain(value) for name, value in query.params.items()})
        case _ if query:
            raise _unusable(connection, "submit")


def _query(specs: Sequence[Spec], tables: Mapping[str, Lifecycle]) -> Query:
    if any(spec.key is not None for spec in specs):
        raise HoldfastError(
            "a key cannot be held inside a transaction of the caller's",
            field="key",
            remedy="leave the key out: the transaction itself makes the job unique, or submit without connection=",
        )
    admission = Admission(tables)
    with tracing.send(specs) as sent:
        [step] = PostgresDialect().create([admission.admit(spec) for spec in sent])
    return cast(Query, step)


def _percent(name: str) -> str:
    return PARAMETER.sub(lambda match: f"%({match[1]})s", named("postgres", name).text.replace("%", "%%"))


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _kind(raw: Any) -> str:
    return type(raw).__module__.partition(".")[0]


BEGIN = "SELECT 1"
"""SQLAlchemy begins the caller's transaction at the first statement that goes through it, and knows of no other."""


def _driver_connection(connection: Any) -> Any:
    """What is under a SQLAlchemy connection or session; anything else is its own driver."""
    if _kind(connection) != "sqlalchemy":
        return connection
    if _is_asynchronous(connection):
        raise _unusable(connection, "asubmit")
    if callable(connection.connection):
        connection = connection.connection()  # a session
    connection.exec_driver_sql(BEGIN)
    return connection.connection.driver_connection


async def _async_driver_connection(connection: Any) -> Any:
    if _kind(connection) != "sqlalchemy":
        return connection
    if not _is_asynchronous(connection):
        raise _unusable(connection, "submit")
    if not hasattr(connection, "get_raw_connection"):
        connection = await connection.connection()  # a session
    await connection.exec_driver_sql(BEGIN)
    return (await connection.get_raw_connection()).driver_connection


def _is_asynchronous(connection: Any) -> bool:
    kind = type(connection)
    return hasattr(kind, "get_raw_connection") or inspect.iscoroutinefunction(getattr(kind, "connection", None))


def _unusable(connection: Any, other: str) -> HoldfastError:
    kind = f"{type(connection).__module__}.{type(connection).__qualname__}"
    return HoldfastError(
        f"connection is {kind}",
        field="connection",
        remedy=f"pass a psycopg, asyncpg or SQLAlchemy connection; for the other kind of caller there is {other}",
    )
