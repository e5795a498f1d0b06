"""Engines for tests: on either store, with a clock that the test moves."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast import Engine
from holdfast.testing import MovableClock

STORES = ["sqlite", "postgres"]


def address(request: pytest.FixtureRequest, folder: Path, name: str = "jobs.db") -> str:
    """A fresh database of the kind that the fixture's parameter names, with the tables in it."""
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("sqlite_template"), folder / name)
        return f"sqlite:///{folder / name}"
    dsn: str = request.getfixturevalue("postgres_url")
    return dsn


@contextmanager
def engine_on(url: str, clock: MovableClock | None = None) -> Iterator[Engine]:
    engine = Engine(url, clock=clock)
    try:
        yield engine
    finally:
        engine.close()
