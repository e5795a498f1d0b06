"""Drivers that ask the database how it will run a statement, then run it as the store's own would."""

import json
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import asyncpg

from holdfast.store.postgres.dialect import PostgresDialect
from holdfast.store.postgres.driver import STEADY, STEADY_WRITES
from holdfast.store.script import Many, Query, Script
from holdfast.store.sqlite.dialect import SqliteDialect
from holdfast.store.statements import named, numbered

T = TypeVar("T")
Plans = dict[str, list[str]]


class PostgresExplaining:
    """`plans`: statement → the plans that it was given, generic and for its parameters, as indented lines."""

    def __init__(self, dsn: str) -> None:
        self.dialect = PostgresDialect()
        self.plans: Plans = defaultdict(list)
        self._dsn = dsn
        self._connections: dict[str, Any] = {}
        self._prepared: dict[tuple[str, str], str] = {}

    wait = None

    async def announce(self) -> None:
        return

    async def listen(self, wake: Callable[[], None]) -> None:
        return

    async def write(self, script: Script[T], *, single: bool = False, urgent: bool = False) -> T:
        connection = await self._connection("write")
        async with connection.transaction():
            return await self._play("write", connection, script)

    async def read(self, script: Script[T]) -> T:
        return await self._play("read", await self._connection("read"), script)

    async def run_ddl(self, text: str, name: str) -> bool:
        raise NotImplementedError("the schema is there before plans are looked at")

    async def _connection(self, kind: str) -> Any:
        if kind not in self._connections:
            chosen = STEADY_WRITES if kind == "write" else STEADY
            connection = await asyncpg.connect(self._dsn, server_settings=chosen)
            await connection.set_type_codec("uuid", schema="pg_catalog", encoder=str, decoder=str, format="text")
            self._connections[kind] = connection
        return self._connections[kind]

    async def _play(self, kind: str, connection: Any, script: Script[T]) -> T:
        answer: list[Any] | None = None
        while True:
            try:
                step = script.send(answer) if answer is not None else next(script)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            statement = numbered("postgres", step.name)
            match step:
                case Query(name, params):
                    values = [params[n] for n in statement.names]
                    await self._explain(kind, connection, name, statement.text, values)
                    answer = await connection.fetch(statement.text, *values)
                case Many(name, rows):
                    await self._explain(kind, connection, name, statement.text, list(rows[0]))
                    await connection.executemany(statement.text, rows)
                    answer = []

    async def _explain(self, kind: str, connection: Any, name: str, text: str, values: list[Any]) -> None:
        if text.startswith("DO"):
            return
        if (kind, name) not in self._prepared:
            self._prepared[kind, name] = f"statement_{len(self._prepared)}"
            await connection.execute(f"PREPARE {self._prepared[kind, name]} AS {text}")
        plan = self._prepared[kind, name]
        arguments = f"({', '.join(['NULL'] * len(values))})" if values else ""
        await connection.execute("SET plan_cache_mode = force_generic_plan")
        generic = await connection.fetchval(f"EXPLAIN (FORMAT JSON) EXECUTE {plan} {arguments}")
        if kind == "read":
            # A read may be planned for its parameters: while it is new, or when that seems cheaper.
            await connection.execute("SET plan_cache_mode = auto")
            custom = await connection.fetchval(f"EXPLAIN (FORMAT JSON) {text}", *values)
            self.plans[name].append(_lines(custom))
        self.plans[name].append(_lines(generic))

    async def close(self) -> None:
        for connection in self._connections.values():
            await connection.close()


def _lines(plan: str) -> str:
    def walk(node: dict[str, Any], depth: int) -> Iterator[str]:
        where = node.get("Relation Name", ""), node.get("Index Name", "")
        # Without a condition it is the whole index: what is told not to read tables reads these.
        whole = "whole" if where[1] and "Index Cond" not in node else ""
        yield "  " * depth + " ".join(filter(None, (node["Node Type"], *where, whole)))
        for child in node.get("Plans", []):
            yield from walk(child, depth + 1)

    return "\n".join(walk(json.loads(plan)[0]["Plan"], 0))


class SqliteExplaining:
    """`plans`: statement → what EXPLAIN QUERY PLAN says of it."""

    def __init__(self, path: str) -> None:
        self.dialect = SqliteDialect(lambda: time.time_ns() // 1_000_000)
        self.plans: Plans = defaultdict(list)
        self.connection = sqlite3.connect(path, isolation_level=None)

    wait = None

    async def announce(self) -> None:
        return

    async def listen(self, wake: Callable[[], None]) -> None:
        return

    async def write(self, script: Script[T], *, single: bool = False, urgent: bool = False) -> T:
        self.connection.execute("BEGIN IMMEDIATE")
        result = await self.read(script)
        self.connection.execute("COMMIT")
        return result

    async def read(self, script: Script[T]) -> T:
        answer: list[Any] | None = None
        while True:
            try:
                step = script.send(answer) if answer is not None else next(script)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            match step:
                case Query(name, params):
                    text = named("sqlite", name).text
                    self._explain(name, text, params)
                    answer = self.connection.execute(text, params).fetchall()
                case Many(name, rows):
                    text = numbered("sqlite", name).text
                    if rows:
                        self._explain(name, text, rows[0])
                    self.connection.executemany(text, rows)
                    answer = []

    async def run_ddl(self, text: str, name: str) -> bool:
        raise NotImplementedError("the schema is there before plans are looked at")

    def _explain(self, name: str, text: str, params: Any) -> None:
        rows = self.connection.execute(f"EXPLAIN QUERY PLAN {text}", params).fetchall()
        self.plans[name].append("\n".join(row[3] for row in rows))

    async def close(self) -> None:
        self.connection.close()
