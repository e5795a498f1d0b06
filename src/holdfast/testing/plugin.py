"""The pytest plugin, found by pytest itself. Fixtures only: a suite that asks for none of them pays nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.engine import Engine
    from holdfast.testing.clock import MovableClock


@pytest.fixture
def holdfast_clock() -> MovableClock:
    """The clock of `holdfast_engine`: it stands still until `advance("5m")`."""
    from holdfast.testing.clock import MovableClock

    return MovableClock()


@pytest.fixture
def holdfast_app() -> Engine | None:
    """Override this fixture to return the engine of your application: its tasks are then under test."""
    return None


@pytest.fixture
def holdfast_engine(holdfast_app: Engine | None, holdfast_clock: MovableClock, tmp_path: Path) -> Iterator[Engine]:
    """An engine on an empty SQLite database, gone after the test."""
    from holdfast.testing.engine import temporary_engine

    with temporary_engine(holdfast_app, clock=holdfast_clock, folder=tmp_path) as engine:
        yield engine
