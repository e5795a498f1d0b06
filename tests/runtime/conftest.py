"""An empty database of each kind, by its address."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import Engine
from tests.runtime import app as tasks


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'holdfast.db'}"
    dsn: str = request.getfixturevalue("postgres_dsn")
    return dsn


@pytest.fixture
def app(database: str) -> Iterator[Engine]:
    """An engine on it, with the tasks that worker processes know too."""
    engine = tasks.app_on(database)
    yield engine
    engine.close()
