"""What a handler logs is kept with its job: in order, before its end, and no more than there is room for."""

import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast import Context, Engine
from holdfast.tasks import job_log
from holdfast.tasks.job_log import LOG, JobLog
from tests.working import signals_of, until, working


def lines_of(app: Engine, job_id: str) -> list[dict[str, Any]]:
    return [json.loads(row.payload) for row in signals_of(app, job_id) if row.type == LOG]


def talks(ctx: Context, n: int) -> None:
    ctx.log.info("began", pages=n)
    for page in range(n):
        ctx.log.bind(page=page).warning("slow %s", "page")
    try:
        raise ValueError("no such page")
    except ValueError:
        ctx.log.exception("stumbled")
    ctx.log.debug("nobody wants this")


@pytest.mark.parametrize("executor", ["thread", pytest.param("process", marks=pytest.mark.slow)])
def test_lines_are_there_when_the_job_is_over(app: Engine, executor: str) -> None:
    app.task(executor=executor, name="talks")(talks)
    with working(app):
        job = app.submit("talks", {"n": 3})
        job.wait(20)
        lines = lines_of(app, job.id)  # at once: they are written before the end
    told = [(line["level"], line["event"], line["fields"]) for line in lines[:-1]]
    assert told == [("info", "began", {"pages": 3})] + [("warning", "slow page", {"page": n}) for n in range(3)]
    assert (lines[-1]["level"], lines[-1]["event"]) == ("error", "stumbled")
    assert "ValueError: no such page" in lines[-1]["fields"]["exception"]
    assert [line["time_ms"] for line in lines] == sorted(line["time_ms"] for line in lines)
    assert {(row.attempt, row.type) for row in signals_of(app, job.id)} == {(1, LOG)}


def waits(ctx: Context, go_on: str) -> None:
    ctx.log.info("waits")
    while not Path(go_on).exists():
        ctx.check()


@pytest.mark.slow
def test_lines_are_there_while_it_runs_and_when_it_is_cancelled(app: Engine, tmp_path: Path) -> None:
    app.task(waits)
    with working(app):
        job = app.submit("waits", {"go_on": str(tmp_path / "never")})
        until(lambda: [line["event"] for line in lines_of(app, job.id)] == ["waits"])
        assert job.state() == "running"
        job.cancel("now", mode="hard")
        assert job.state() == "cancelled"
    assert len(lines_of(app, job.id)) == 1


def test_the_application_still_gets_its_lines(app: Engine, caplog: pytest.LogCaptureFixture) -> None:
    app.task(talks)
    with caplog.at_level(logging.WARNING, "holdfast.job"), working(app):
        job = app.submit("talks", {"n": 1})
        job.wait(20)
    said = [record.getMessage() for record in caplog.records if record.name == "holdfast.job"]
    assert len(said) == 2
    assert f"job_id={job.id}" in said[0]


def test_no_more_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_log, "MOST_LINES", 5)
    log = JobLog()
    for n in range(100):
        log.add("info", f"line {n}", {})
    told = [json.loads(line)["event"] for line in log.take()]
    assert told == ["line 0", "line 1", "line 2", "line 3", "log_cut"]
    log.add("info", "one more", {})
    assert not log
    monkeypatch.setattr(job_log, "MOST_LINES", 1_000)
    big = JobLog()
    for _ in range(100):
        big.add("info", "x", {"body": "y" * 15_000})
    taken = big.take()
    assert sum(map(len, taken)) <= job_log.MOST_BYTES + 200
    assert json.loads(taken[-1])["event"] == "log_cut"
    long = JobLog()
    long.add("info", "x" * 1_000_000, {"nul": "\0", "odd": object()})
    [line] = long.take()
    assert len(line.encode()) <= job_log.LONGEST_LINE


def test_the_command_line_shows_them(database: str, app: Engine) -> None:
    app.task(talks)
    with working(app):
        job = app.submit("talks", {"n": 1})
        job.wait(20)
    command = [sys.executable, "-m", "holdfast.cli", "job", "logs", job.id, "--follow", "--db", database]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line.split(maxsplit=3) for line in shown.stdout.splitlines()]
    assert [line[1:4] for line in lines[:2]] == [["1", "info", "began  pages=1"], ["1", "warning", "slow page  page=0"]]
    data = subprocess.run([*command[:-3], "--json", *command[-2:]], capture_output=True, text=True, check=True)
    assert [each["payload"]["event"] for each in json.loads(data.stdout)] == ["began", "slow page", "stumbled"]
