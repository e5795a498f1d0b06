"""A worker killed with SIGKILL in a stage: another goes on there, and runs nothing again that was over."""

import asyncio
import contextlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import Engine
from holdfast.audit.auditor import audit
from tests.systems.pipeline.press import Order, noted, press
from tests.working import ROOT, until

pytestmark = pytest.mark.slow

LINES = ["collect", "sort", "write 1", "write 2", "write 3", "send"]
LAST_LINE = {"collect": "collect", "sort": "sort", "write": "write 2", "send": "send"}


@contextlib.contextmanager
def worker(url: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.systems.pipeline.press", url],
            cwd=ROOT,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.rule("P12")
@pytest.mark.parametrize("stage", ["collect", "sort", "write", "send"])
def test_killed_in_each_stage(database: str, tmp_path: Path, stage: str) -> None:
    file = tmp_path / "paper"
    app, pipe = press(database)
    try:
        job = pipe.submit(Order(str(file), stage))
        with worker(database, tmp_path / "first.log") as first:
            until(lambda: LAST_LINE[stage] in noted(file))
            # A step is kept a moment after its effect: once it is, only a kill can be what stops the stage.
            until(lambda: stage != "write" or "write/line 2" in _steps(app, job.id))
            running = [shown["name"] for shown in job.stages() if shown["status"] == "running"]
            first.kill()
        assert running == [stage], "seen from here while it ran there"
        Path(f"{file}.go").touch()
        with worker(database, tmp_path / "second.log"):
            assert job.result(30)["send"] == "sent 1 2 3"
        again = Counter(noted(file)) - Counter(LINES)
        assert again == Counter([] if stage == "write" else [stage]), "only the stage that was killed began once more"
        found = job.job()
        assert (found.state, found.attempt, found.losses) == ("succeeded", 2, 1)
        assert [event.type for event in job.events()] == [
            "job_submitted",
            "job_started",
            "job_taken_over",
            "job_succeeded",
        ]
        assert [shown["status"] for shown in job.stages()] == ["completed"] * 3 + ["skipped", "completed"]
        assert asyncio.run(audit(database, processes=False)).violations == []
    finally:
        app.close()


def _steps(app: Engine, job_id: str) -> list[str]:
    async def read() -> list[str]:
        return [name for name, _ in await (await app._inside.opened()).kept.steps(job_id)]

    return app._inside.portal.call(read())
