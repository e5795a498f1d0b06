"""Through HTTP alone: everything that the command line can do to a job, on a real server, on both stores.

The list of commands is the program's own, so that a new one without a way over HTTP fails here.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest
from cyclopts import App

from holdfast.api.running import Service, WorkerSettings
from holdfast.api.settings import ApiSettings
from holdfast.cli.app import app as program
from tests.api.caller import Caller, declare
from tests.api.ways import JOBS
from tests.api.ways_of_graphs import GRAPHS
from tests.engines import STORES, address, engine_on

WAYS = {**JOBS, **GRAPHS}
ELSEWHERE = {
    "api": "it is the way itself",
    "audit": "about the whole database, and for whoever has it",
    "bench": "about the machine",
    "completion": "about the shell",
    "db": "about the database, by whoever has it",
    "demo": "a show of its own",
    "dev": "starts a server",
    "doctor": "about the machine",
    "key": "who may call is decided where the database is",
    "lifecycle check": "about a module on this machine",
    "seal": "a chore that every server does by itself",
    "serve": "starts a server",
    "verify": "needs neither server nor database",
    "version": "about the program",
    "worker": "starts a worker",
}
"""Commands that do nothing to a job, or nouns of which none does, and why they are not for HTTP."""


def commands(app: App, before: str = "") -> Iterator[str]:
    """Every command that a user can type, by its words."""
    for name in app:
        if not name.startswith("-"):
            words = f"{before} {name}".strip()
            yield from list(commands(app[name], words)) or [words]


def test_every_command_is_known_here() -> None:
    typed = set(commands(program))
    assert {"run", "job list", "dead replay"} < typed
    left = {words for words in typed if not {words, words.split()[0]} & ELSEWHERE.keys()}
    assert left - WAYS.keys() == set(), "commands without a way over HTTP: tests/api/ways.py"
    assert WAYS.keys() - left == set(), "ways of commands that there are not"
    assert {name.split()[0] for name in ELSEWHERE} <= {words.split()[0] for words in typed}


@pytest.fixture(params=STORES)
def caller(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Caller]:
    with engine_on(address(request, tmp_path)) as engine:
        declare(engine)
        service = Service(engine._inside, ApiSettings(port=0), WorkerSettings(queues="default", concurrency=4))
        url = engine._inside.portal.call(service.start(), 30)
        with Caller(url) as caller:
            yield caller
        engine._inside.portal.call(service.stop(), 30)


@pytest.mark.slow
def test_each_works_through_http_alone(caller: Caller) -> None:
    failed = {}
    for words, way in WAYS.items():
        try:
            way(caller)
        except AssertionError:
            failed[words] = traceback.format_exc(limit=-1)
    assert failed == {}
