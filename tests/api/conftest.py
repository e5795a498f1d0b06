"""An engine on each store, with a clock that the test moves, and a client of its API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import Engine
from holdfast.testing import MovableClock
from tests.api.calling import Client, client_of
from tests.api.tasks import declare
from tests.engines import STORES, address, engine_on


@pytest.fixture(params=STORES)
def engine(request: pytest.FixtureRequest, tmp_path: Path, clock: MovableClock) -> Iterator[Engine]:
    with engine_on(address(request, tmp_path), clock) as engine:
        declare(engine)
        yield engine


@pytest.fixture
def client(engine: Engine) -> Client:
    return client_of(engine)
