"""Engines for tests: on either store, with a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast import Engine
from holdfast.testing import MovableClock

STORES = ["sqlite", "postgres"]


def address(request: pytest.FixtureRequest, folder: Path) -> str:
    """An empty database of the kind that the fixture's parameter names."""
    if request.param == "sqlite":
        return f"sqlite:///{folder}/jobs.db"
    dsn: str = request.getfixturevalue("postgres_dsn")
    return dsn


@contextmanager
def engine_on(url: str, clock: MovableClock | None = None) -> Iterator[Engine]:
    engine = Engine(url, clock=clock)
    try:
        yield engine
    finally:
        engine.close()
