"""`holdfast bench`: figures of this machine, and nothing left behind."""

from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.services.postgres import Server


def check(data: dict) -> None:
    for phase in ("submit_one", "submit_bulk", "drain"):
        assert data[phase]["jobs"] > 0
        assert data[phase]["per_s"] == pytest.approx(data[phase]["jobs"] / data[phase]["seconds"], rel=0.05)
    assert data["drain"]["jobs"] <= data["submit_one"]["jobs"] + data["submit_bulk"]["jobs"]
    assert 0 < data["idle"]["submit_to_start_ms"] < 30_000


@pytest.mark.slow
def test_sqlite_is_measured_beside_the_database_that_is_never_made(cli: Cli, tmp_path: Path) -> None:
    answer = cli("bench", "--seconds", "1", "--json")
    assert answer.code == 0, answer.err
    check(answer.json)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_postgres_is_measured_in_a_schema_that_is_removed(cli: Cli, postgres: Server, postgres_dsn: str) -> None:
    import psycopg

    answer = cli("bench", "--db", postgres_dsn, "--seconds", "1", "--json")
    assert answer.code == 0, answer.err
    check(answer.json)
    with psycopg.connect(postgres_dsn) as connection:
        left = connection.execute(
            "SELECT nspname, relname FROM pg_namespace LEFT JOIN pg_class ON relnamespace = pg_namespace.oid"
            " WHERE nspname = 'public' AND relname IS NOT NULL OR nspname LIKE 'holdfast%'"
        ).fetchall()
    assert left == []


def test_too_short_a_time_is_refused(cli: Cli) -> None:
    answer = cli("bench", "--seconds", "0.1")
    assert answer.code == 2
    assert "--seconds 0.1 is too short" in answer.err


def test_a_server_that_is_not_there_is_said_in_one_line(cli: Cli) -> None:
    answer = cli("bench", "--db", "postgresql://nobody@127.0.0.1:1/none")
    assert answer.code == 6
    assert "cannot be reached" in answer.err
