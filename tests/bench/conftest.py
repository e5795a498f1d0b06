"""A bench measures PostgreSQL as it is installed: here the server waits for its disk."""

import contextlib
import gc
from collections.abc import Iterator

import pytest

from tests.conftest import skip_if_missing
from tests.services.postgres import Server, running_postgres


@pytest.fixture(autouse=True, scope="session")
def _only_its_own_garbage() -> Iterator[None]:
    """A measurement begins with a clean heap: what the suite has loaded by then takes a third of a second each time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    with contextlib.ExitStack() as stack:
        with skip_if_missing():
            server = stack.enter_context(running_postgres())
        yield server
