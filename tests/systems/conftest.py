"""An engine that knows no tasks yet, with a clock that the test moves."""

from collections.abc import Iterator

import pytest

from holdfast import Engine
from holdfast.testing import MovableClock


@pytest.fixture
def app(database: str, clock: MovableClock) -> Iterator[Engine]:
    engine = Engine(database, clock=clock)
    yield engine
    engine.close()
