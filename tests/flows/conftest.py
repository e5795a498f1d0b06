"""An engine on each kind of database, with a clock that the test moves."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import Engine
from holdfast.testing import MovableClock


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'holdfast.db'}"
    dsn: str = request.getfixturevalue("postgres_dsn")
    return dsn


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def app(database: str, clock: MovableClock) -> Iterator[Engine]:
    engine = Engine(database, clock=clock)
    yield engine
    engine.close()
