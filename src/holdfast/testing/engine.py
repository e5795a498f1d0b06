"""An engine for one test: the application's own, or a fresh one, on a database of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.engine import Engine
from holdfast.runtime.engine import Engine as Runtime
from holdfast.testing.clock import MovableClock


@contextmanager
def temporary_engine(
    app: Engine | None = None, *, clock: MovableClock | None = None, folder: str | Path | None = None
) -> Iterator[Engine]:
    """An engine on an empty SQLite database, with a clock that the test moves.

    With `app` it is that engine, tasks and all, taken off its own database for as long as the block runs.
    """
    clock = MovableClock() if clock is None else clock
    with tempfile.TemporaryDirectory(prefix="holdfast-", dir=folder) as made:
        url = f"sqlite:///{Path(made) / 'test.db'}"
        engine = Engine(url, clock=clock) if app is None else app
        engine.close()
        inside = engine._inside
        kept = inside.url, inside.clock
        inside.url, inside.clock = url, clock
        try:
            yield engine
        finally:
            engine.close()
            inside.url, inside.clock = kept


def clock_of(engine: Runtime) -> MovableClock | None:
    """The clock of an engine, where it is one that can be moved."""
    clock = engine._inside.clock
    return clock if isinstance(clock, MovableClock) else None
