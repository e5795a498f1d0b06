"""Engines for tests: on either store, with a clock that the test moves."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import pytest

from holdfast import Engine
from holdfast.store.port import Store
from holdfast.testing import MovableClock

STORES = ["sqlite", "postgres"]
P = ParamSpec("P")
R = TypeVar("R")


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


def on_store(
    app: Engine, work: Callable[Concatenate[Store, P], Coroutine[Any, Any, R]], *args: P.args, **kwargs: P.kwargs
) -> R:
    """What the store's port answers in the engine's own loop; whoever waits for work looks again."""

    async def run() -> R:
        done = await work(await app._inside.opened(), *args, **kwargs)
        app._inside.woken()
        return done

    return app._inside.portal.call(run())
