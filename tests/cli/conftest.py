"""The command line in this process: its exit code, its stdout, its stderr."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from holdfast.cli import main
from tests.cli.seeds import seed
from tests.services.postgres import Server


class Answer(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Cli = Callable[..., Answer]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs `holdfast …` in an empty directory, with nothing configured."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOLDFAST_DB", raising=False)
    monkeypatch.setenv("COLUMNS", "160")

    def run(*words: str) -> Answer:
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Answer(code, out, err)

    return run


@pytest.fixture(params=["sqlite", "postgres"])
def empty_db(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database without tables; on SQLite without a file."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/jobs.db"
    dsn: str = request.getfixturevalue("postgres_dsn")
    return dsn


@pytest.fixture
def seeded_db(database: str) -> str:
    seed(database)
    return database


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def shared_db(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A seeded database for tests that only read: it is made once."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('shared')}/jobs.db"
    else:
        import psycopg

        server: Server = request.getfixturevalue("postgres")
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("CREATE DATABASE cli_shared")
        url = server.dsn_of("cli_shared")
    seed(url)
    return url


@pytest.fixture
def sqlite_db(sqlite_url: str) -> str:
    """A seeded database on SQLite alone, for what does not depend on the store."""
    seed(sqlite_url)
    return sqlite_url
