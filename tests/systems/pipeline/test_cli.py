"""`holdfast pipeline`: what it prints, where, and how it exits."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli import main
from tests.working import ROOT, working

APP = "tests.systems.pipeline.errand:app"


@pytest.fixture
def cli(database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.setenv("COLUMNS", "160")

    def run(*words: str) -> tuple[int, str, str]:
        code = main(["--db", database, "--app", APP, *words])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return run


def test_run_list_show_cancel(cli: Any, database: str) -> None:
    code, out, _ = cli("pipeline", "run", "errand", "-c", "lines=2")
    assert code == 0
    job_id = out.strip()
    code, out, _ = cli("pipeline", "list", "--json")
    [listed] = json.loads(out)
    assert (code, listed["id"], listed["state"]) == (0, job_id, "PENDING")
    code, out, err = cli("pipeline", "cancel", job_id, "-r", "enough", "--json")
    assert (code, json.loads(out)["state"]) == (0, "CANCELLED")
    code, _, err = cli("pipeline", "cancel", job_id)
    assert code == 5
    assert "no cancel from CANCELLED" in err
    code, out, _ = cli("pipeline", "list", "-s", "CANCELLED", "-o", "ids")
    assert out.split() == [job_id]


def test_waiting_shows_stages_on_stderr_and_the_result_on_stdout(cli: Any, database: str) -> None:
    from holdfast import Engine
    from tests.systems.pipeline.errand import declare

    worker = Engine(database)
    declare(worker)
    try:
        with working(worker):
            code, out, err = cli("pipeline", "run", "errand", "-c", "lines=2", "--wait")
            assert (code, json.loads(out)) == (0, {"fetch": [0, 1], "sort": [1, 0]})
            # Which of the states between are seen depends on when it looks; the last of each stage does not.
            told = [line.split(": ", 1) for line in err.splitlines() if line.startswith(("fetch", "sort"))]
            assert dict(told) == {"fetch": "completed", "sort": "partial, line 0: too short"}
            code, out, err = cli("pipeline", "run", "errand", "-c", "lines=0", "-w", "--json")
            assert (code, json.loads(out)["state"]) == (10, "FAILED")
            code, out, _ = cli("pipeline", "show", json.loads(out)["id"])
            assert code == 0
            assert "ValueError" in out or "nothing to fetch" in out
    finally:
        worker.close()


def test_mistakes(cli: Any) -> None:
    code, _, err = cli("pipeline", "run", "nothing")
    assert (code, "declared here: errand" in err) == (3, True)
    code, _, err = cli("pipeline", "run", "errand", "-c", "lines=many")
    assert (code, "lines" in err) == (2, True)
    code, _, err = cli("pipeline", "run", "errand", "-c", "lines")
    assert (code, "name=value" in err) == (2, True)
    cli("db", "migrate")
    assert cli("pipeline", "show", "nothing")[0] == 3
    code, out, err = cli("pipeline", "list")
    assert (code, out, "no runs" in err) == (0, "", True)


@pytest.mark.slow
def test_a_wait_that_takes_too_long_leaves_the_run_alone(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'jobs.db'}"
    command = [sys.executable, "-m", "holdfast.cli", "--db", database, "--app", APP]
    wait = ["pipeline", "run", "errand", "-c", "lines=1", "--timeout", "500ms"]
    done = subprocess.run([*command, *wait], cwd=ROOT, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 124, done.stderr
    assert "it goes on" in done.stderr
