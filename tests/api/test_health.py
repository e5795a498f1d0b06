"""/healthz: the process is alive. /readyz: it can work, or a problem says why not."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from holdfast import Engine
from holdfast.api.app import create_app
from holdfast.config import sqlite_path
from tests.engines import STORES, address, engine_on


@pytest.fixture(params=STORES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    with engine_on(address(request, tmp_path)) as engine:
        yield engine


def ask(engine: Engine, path: str, **headers: str) -> httpx.Response:
    async def get() -> httpx.Response:
        transport = httpx.ASGITransport(app=create_app(engine._inside))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:54322") as client:
            return await client.get(path, headers=headers)

    return engine._inside.portal.call(get())


def test_alive_and_ready(engine: Engine) -> None:
    assert (ask(engine, "/healthz").status_code, ask(engine, "/healthz").json()) == (200, {"status": "ok"})
    assert (ask(engine, "/readyz").status_code, ask(engine, "/readyz").json()) == (200, {"status": "ready"})


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DELETE FROM holdfast_migration WHERE name = (SELECT max(name) FROM holdfast_migration)", "lacks migrations"),
        ("INSERT INTO holdfast_migration (name) VALUES ('9999_future')", "later version: 9999_future"),
        ("DROP TABLE holdfast_migration", "lacks migrations"),
    ],
)
def test_another_schema_is_not_ready(engine: Engine, statement: str, said: str) -> None:
    assert ask(engine, "/readyz").status_code == 200
    _execute(engine.url, statement)
    answer = ask(engine, "/readyz")
    assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
    assert answer.json()["code"] == "unavailable"
    assert said in answer.json()["detail"]
    assert int(answer.headers["retry-after"]) > 0
    assert ask(engine, "/healthz").status_code == 200, "a server without its database is alive"


def _execute(url: str, statement: str) -> None:
    """As somebody else would, past the engine."""
    if (path := sqlite_path(url)) is not None:
        with sqlite3.connect(path) as connection:
            connection.execute(statement)
        connection.close()
        return
    with psycopg.connect(url, autocommit=True) as postgres:
        postgres.execute(statement.encode())


def test_a_database_that_is_away() -> None:
    """Nothing of the address, and nothing of the database's own words, goes out."""
    with engine_on("postgresql://nobody:hunter2secret@127.0.0.1:1/none") as engine:
        answer = ask(engine, "/readyz")
        assert answer.status_code == 503
        assert answer.json()["detail"] == "the database does not answer"
        assert "hunter2secret" not in answer.text
        assert ask(engine, "/healthz").status_code == 200
        assert ask(engine, "/metrics").status_code == 503
