"""An engine with tasks of every kind, on a database of each kind."""

from collections.abc import Iterator

import pytest

from holdfast import Engine
from holdfast.observe import redact
from tests.observe import jobs


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
