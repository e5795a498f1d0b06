"""Both stores are as the model, whatever is done to many jobs in whatever order."""

import os
from typing import Any

import pytest

from tests.load.conftest import postgres_site, sqlite_site
from tests.load.machine import compare
from tests.services.postgres import Server

EXAMPLES, STEPS = (20_000, 100) if os.environ.get("HOLDFAST_SOAK") else (500, 50)


@pytest.mark.slow
@pytest.mark.rule("D02", "D04", "D05", "D07")
def test_sqlite_is_as_the_model(tmp_path: Any) -> None:
    compare(sqlite_site(tmp_path), EXAMPLES, STEPS)


@pytest.mark.slow
@pytest.mark.rule("D02", "D04", "D05", "D07")
def test_postgres_is_as_the_model(wide_postgres: Server) -> None:
    compare(postgres_site(wide_postgres), EXAMPLES, STEPS)
