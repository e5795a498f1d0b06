"""Both stores are as the model, at a first glance: `make test` looks longer."""

from __future__ import annotations

from pathlib import Path

from tests.load.conftest import postgres_site, sqlite_site
from tests.load.machine import compare
from tests.services.postgres import Server

EXAMPLES, STEPS = 25, 30


def test_sqlite_is_as_the_model(tmp_path: Path) -> None:
    compare(sqlite_site(tmp_path), EXAMPLES, STEPS)


def test_postgres_is_as_the_model(postgres: Server) -> None:
    compare(postgres_site(postgres), EXAMPLES, STEPS)
