"""PostgreSQL: a few connections, each statement a whole batch; leases have a connection of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import asyncpg

from holdfast.kernel.errors import HoldfastError, StoreLostError
from holdfast.store.postgres.dialect import PostgresDialect
from holdfast.store.script import Many, Query, Script
from holdfast.store.statements import numbered
from holdfast.store.store import SqlStore

T = TypeVar("T")
Connection = asyncpg.Connection
MIGRATION_LOCK = 0x686F6C64
CHANNEL = "holdfast"
# Nothing is lost with a notification, and who waits for it should not wait for the disk.
ANNOUNCE = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, '')"
LISTEN_AGAIN_S = 1.0
CLOSE_S = 5.0
CONNECTION_ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)

# Plans that do not depend on statistics: a table that was loaded a moment ago has none. A read may sort the
# few rows that it has found; a write has nothing to sort.
STEADY = {
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    "application_name": "holdfast",
}
STEADY_READS = STEADY | {"default_transaction_read_only": "on"}
STEADY_WRITES = STEADY | {
    "enable_sort": "off",
    "enable_incremental_sort": "off",
    "plan_cache_mode": "force_generic_plan",
}


class _Pool:
    """Connections that are handed out as they are: no reset, no round trip of its own."""

    def __init__(self, dsn: str, size: int, settings: dict[str, str]) -> None:
        self._dsn = dsn
        self._settings = settings
        self._free: list[Connection] = []
        self._slots = asyncio.Semaphore(size)
        self._closed = False

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        async with self._slots:
            while self._free and self._free[-1].is_closed():
                self._free.pop()
            connection = self._free.pop() if self._free else await self._connect()
            sound = False
            try:
                yield connection
                sound = True
            except CONNECTION_ERRORS as error:
                if _is_lost(error):
                    raise StoreLostError(f"the connection to the database was lost: {error}") from error
                sound = True
                raise
            except HoldfastError:
                sound = True
                raise
            finally:
                # Cut off in the middle: nobody knows what it was at, and it may not look closed yet.
                if sound and not self._closed and not connection.is_closed() and not connection.is_in_transaction():
                    self._free.append(connection)
                else:
                    connection.terminate()

    async def _connect(self) -> Connection:
        try:
            connection = await asyncpg.connect(self._dsn, server_settings=self._settings)
            await connection.set_type_codec("uuid", schema="pg_catalog", encoder=str, decoder=str, format="text")
        except asyncpg.PostgresConnectionError as error:
            raise StoreLostError(f"the connection to the database was lost: {error}") from error
        return connection

    async def close(self) -> None:
        self._closed = True
        while self._free:
            with suppress(TimeoutError):  # a server that does not say goodbye is cut off
                await self._free.pop().close(timeout=CLOSE_S)


def _is_lost(error: Exception) -> bool:
    """Whether the connection is at fault, and not what was asked of it."""
    if isinstance(error, asyncpg.PostgresError):
        severity = getattr(error, "severity_en", None)
        return isinstance(error, asyncpg.PostgresConnectionError) or severity in ("FATAL", "PANIC")
    return not isinstance(error, ValueError)


class PostgresDriver:
    def __init__(self, dsn: str, clock: Callable[[], int] | None, connections: int) -> None:
        self.dialect = PostgresDialect(clock)
        self._dsn = dsn
        self._writes = _Pool(dsn, connections, STEADY_WRITES)
        self._urgent = _Pool(dsn, 1, STEADY_WRITES)
        self._reads = _Pool(dsn, connections, STEADY_READS)

    async def write(self, script: Script[T], *, single: bool = False, urgent: bool = False) -> T:
        pool = self._urgent if urgent else self._writes
        async with pool.connection() as connection:
            if single:
                return await _steps(connection, script, single=True)
            async with connection.transaction():
                return await _steps(connection, script)

    wait = None
    """Its connections live in a loop."""

    async def read(self, script: Script[T]) -> T:
        async with self._reads.connection() as connection:
            return await _steps(connection, script)

    async def run_ddl(self, text: str, name: str) -> bool:
        async with self._writes.connection() as connection, connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", MIGRATION_LOCK)
            if await connection.fetchval("SELECT 1 FROM holdfast_migration WHERE name = $1", name):
                return False
            await connection.execute(text)
            await connection.execute(numbered("postgres", "migration_done").text, name)
            return True

    async def announce(self) -> None:
        async with self._reads.connection() as connection:
            await connection.execute(ANNOUNCE, CHANNEL)

    async def listen(self, wake: Callable[[], None]) -> None:
        """Until cancelled. While the database is away it is deaf, which costs latency and nothing else."""
        while True:
            try:
                connection = await asyncpg.connect(self._dsn, server_settings={"application_name": "holdfast"})
            except (OSError, asyncpg.PostgresError):
                await asyncio.sleep(LISTEN_AGAIN_S)
                continue
            gone = asyncio.Event()
            connection.add_termination_listener(lambda *_, gone=gone: gone.set())
            try:
                await connection.add_listener(CHANNEL, lambda *_: wake())
                wake()
                await gone.wait()
            finally:
                connection.terminate()

    async def close(self) -> None:
        for pool in (self._writes, self._urgent, self._reads):
            await pool.close()


async def _steps(connection: Connection, script: Script[T], *, single: bool = False) -> T:
    """With `single` there is no transaction around it: the second of its statements to write stops it."""
    wrote = False
    answer: list[Any] | None = None
    while True:
        try:
            step = script.send(answer) if answer is not None else next(script)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return] # a script returns what its type says
        try:
            statement = numbered("postgres", step.name)
            if single and wrote and statement.writes:
                raise RuntimeError(f"{step.name} would write outside of the transaction that its script needs")
            wrote = wrote or statement.writes
            match step:
                case Query(_, params):
                    answer = await connection.fetch(statement.text, *[params[n] for n in statement.names])
                case Many(_, rows):
                    await connection.executemany(statement.text, rows)
                    answer = []
        except BaseException:
            script.close()
            raise


def open_postgres(dsn: str, *, clock: Callable[[], int] | None = None, connections: int = 2) -> SqlStore:
    """A store in a PostgreSQL database. Two connections for writes: claim and finish overlap, more is slower."""
    driver = PostgresDriver(dsn, clock, connections)
    return SqlStore(driver)
