"""A bench measures PostgreSQL as it is installed: here the server waits for its disk."""

import contextlib
from collections.abc import Iterator

import pytest

from tests.conftest import skip_if_missing
from tests.services.postgres import Server, running_postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    with contextlib.ExitStack() as stack:
        with skip_if_missing():
            server = stack.enter_context(running_postgres())
        yield server
