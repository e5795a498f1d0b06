"""A server killed with SIGKILL while it creates a job: the client's retry finds exactly one."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from holdfast import Engine
from tests.engines import STORES, address, engine_on

BODY = {"task": "add", "args": {"a": 1}}
KEY = {"Idempotency-Key": "k"}
DEADLINE_S = 30.0


@pytest.fixture(params=STORES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    with engine_on(address(request, tmp_path)) as engine:
        yield engine


@contextmanager
def server(url: str, when: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "tests.api.jobs.dying_server", url, "0", when]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@pytest.mark.slow
@pytest.mark.parametrize(("when", "kept"), [("before", 0), ("after", 1)])
def test_a_retry_after_the_kill_finds_exactly_one_job(engine: Engine, when: str, kept: int) -> None:
    with server(engine.url, when) as (base, process):
        with pytest.raises(httpx.TransportError):
            httpx.post(f"{base}/api/jobs", json=BODY, headers=KEY, timeout=DEADLINE_S)
        assert process.wait(DEADLINE_S) == -signal.SIGKILL
    assert len(engine.list_jobs()) == kept
    with server(engine.url, "never") as (base, _):
        answers = [httpx.post(f"{base}/api/jobs", json=BODY, headers=KEY, timeout=DEADLINE_S) for _ in range(3)]
    [job] = engine.list_jobs()
    assert [answer.status_code for answer in answers] == [201, 201, 201]
    assert len({answer.content for answer in answers}) == 1
    assert answers[0].json()["id"] == job.id
