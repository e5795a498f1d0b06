"""An engine with tasks of every kind, on a database of each kind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import Engine
from holdfast.observe import redact
from tests.observe import jobs


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'holdfast.db'}"
    dsn: str = request.getfixturevalue("postgres_dsn")
    return dsn


@pytest.fixture
def app(database: str) -> Iterator[Engine]:
    engine = jobs.app_on(database)
    yield engine
    engine.close()


@pytest.fixture(autouse=True)
def _nothing_known() -> Iterator[None]:
    """What one test has made known as a secret is no other's."""
    redact.forget()
    yield
    redact.forget()
