"""Log lines: JSON in services, text on terminals, one for each transition, each with whom it is about."""

import io
import json
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast import Engine
from holdfast.observe import logs, redact
from holdfast.observe.current import Current, current
from holdfast.observe.lines import JsonLines, TextLines
from tests.observe import jobs
from tests.working import until

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sys.executable).with_name("holdfast")


@contextmanager
def fresh_root() -> Iterator[logging.Logger]:
    """The root logger as a new process has it."""
    logger = logging.getLogger()
    before = logger.handlers[:], logger.level, sys.excepthook, threading.excepthook, os.environ.get(logs.VARIABLE)
    logger.handlers.clear()
    try:
        yield logger
    finally:
        logger.handlers[:], level, sys.excepthook, threading.excepthook, form = before
        logger.setLevel(level)
        logging.captureWarnings(False)
        os.environ.pop(logs.VARIABLE, None)
        if form is not None:
            os.environ[logs.VARIABLE] = form


def said(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_application_that_says_nothing_gets_plain_text(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "holdfast.test"):
        logs.get_logger("holdfast.test").info("it happened", count=3, token="abcdef")
    assert caplog.messages == ['event="it happened" count=3 token=[redacted]']


def test_json_where_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(logs.VARIABLE, raising=False)
    stream = io.StringIO()
    with fresh_root():
        assert logs.set_up(stream=stream) == "json"
        logs.get_logger("holdfast.test").info("it_happened", count=3)
        logging.getLogger("library").warning("100 %% of %s", "it", extra={"size": 7})
        first, second = said(stream)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first.pop("at"))
        assert first == {"level": "info", "logger": "holdfast.test", "event": "it_happened", "count": 3}
        assert second["event"] == "100 % of it"
        assert (second["size"], second["logger"]) == (7, "library")


def test_text_where_it_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(logs.VARIABLE, "text")
    stream = io.StringIO()
    with fresh_root():
        assert logs.set_up(stream=stream) == "text"
        logs.get_logger("holdfast.test").info("it_happened", count=3)
        assert re.match(r"\d\d:\d\d:\d\d\.\d{3} \[info +\] it_happened +\[holdfast.test\] count=3\n", stream.getvalue())


def test_a_form_that_there_is_not_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(logs.VARIABLE, "xml")
    stream = io.StringIO()
    with fresh_root():
        assert logs.set_up(stream=stream) == "json"
        [line] = said(stream)
        assert (line["level"], line["given"], line["known"]) == ("warning", "xml", ["json", "text"])


def test_an_application_that_has_its_own_handlers_keeps_them() -> None:
    stream = io.StringIO()
    with fresh_root() as root:
        own = logging.StreamHandler(stream)
        root.addHandler(own)
        redact.register("the-secret-word")
        assert logs.set_up() is None
        assert logs.set_up() is None
        logging.getLogger("library").warning("so %s", "the-secret-word")
        assert root.handlers == [own]
        assert stream.getvalue() == f"so {redact.HIDDEN}\n"


@pytest.mark.parametrize("formatter", [JsonLines(), TextLines()])
def test_a_line_says_on_whose_behalf(formatter: logging.Formatter) -> None:
    token = current.set(Current("a" * 32, None, "order-7", "job-1", 2))
    try:
        own = formatter.format(logging.makeLogRecord({"msg": "own", "name": "x"}))
        of_another = formatter.format(logging.makeLogRecord({"msg": "other", "job_id": "job-2"}))
    finally:
        current.reset(token)
    assert all(part in own for part in ("job-1", "order-7", "a" * 32))
    assert "order-7" not in of_another
    assert "job-2" in of_another


def test_what_hears_a_logger_hears_every_level_and_no_secret() -> None:
    heard: list[tuple[str, dict[str, Any]]] = []

    def hear(_: Any, method: str, event: Any) -> Any:
        heard.append((method, dict(event)))
        return event

    logs.get_logger("holdfast.test.heard", hear).debug("at %s", 5, api_key="abc")
    assert heard == [("debug", {"event": "at 5", "api_key": redact.HIDDEN})]


@pytest.mark.slow
def test_a_worker_says_everything_in_json_lines(tmp_path: Path) -> None:
    """Every line is JSON on stderr; every event is one line; handlers say whose they are, wherever they run."""
    url = f"sqlite:///{tmp_path}/jobs.db"
    app = jobs.app_on(url)
    submitted = [
        app.submit(task, {"url": ""}, correlation_id=f"order-{task}", trace_id=f"{n}" * 32)
        for n, task in enumerate(("call", "acall", "pcall"), 1)
    ]
    failing = app.submit("fail", {"code": "no_luck"})
    environment = {key: value for key, value in os.environ.items() if key != logs.VARIABLE}
    with (tmp_path / "stderr").open("w") as stderr:
        worker = subprocess.Popen(
            [str(PROGRAM), "--db", url, "worker", "tests.observe.jobs:app", "--metrics-port", "0"],
            cwd=ROOT,
            env=environment | {"HOLDFAST_DB": url, "WAREHOUSE_PASSWORD": "correct-horse"},
            stdout=subprocess.PIPE,
            stderr=stderr,
        )
    try:
        for job in (*submitted, failing):
            job.wait(30)
        shown = until(lambda: [line for line in _lines(tmp_path) if line["event"] == "metrics_shown"])
        scraped = urllib.request.urlopen(shown[0]["url"], timeout=10).read().decode()  # noqa: S310
        worker.send_signal(signal.SIGTERM)
        out, _ = worker.communicate(timeout=30)
    finally:
        worker.kill()
    assert (worker.returncode, out) == (0, b"")
    assert "worker_claims_total 5.0\n" in scraped
    assert "worker_claim_conflicts_total 0.0\n" in scraped
    lines = _lines(tmp_path)
    assert {"worker_started", "worker_stopping", "worker_stopped"} <= {line["event"] for line in lines}
    for job in submitted:
        row = job.job()
        own = [line for line in lines if line["logger"] in ("holdfast.job", "shop") and line["job_id"] == job.id]
        assert [line["event"] for line in own] == ["calling", "from a library"]
        assert {(line["correlation_id"], line["trace_id"]) for line in own} == {(row.correlation_id, row.trace_id)}
        assert own[0]["password"] == redact.HIDDEN
    for job in (*submitted, failing):
        moves = [line for line in lines if line["logger"] == "holdfast.transition" and line["job_id"] == job.id]
        told = [tuple(line[name] for name in ("event", "from", "to", "reason", "attempt")) for line in moves]
        events = [(e.type, e.from_state, e.to_state, e.reason, e.attempt) for e in job.events()]
        assert told == events[1:], "all but the submit, which was this process's own"
        assert {line["correlation_id"] for line in moves} == {job.job().correlation_id or job.id}
    app.close()


def _lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "stderr").read_text().splitlines()]


def test_transitions_say_the_ids_and_no_secret(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    app: Engine = jobs.app_on(f"sqlite:///{tmp_path}/jobs.db")
    with caplog.at_level(logging.INFO, "holdfast.transition"):
        job = app.submit("call", {"url": ""}, correlation_id="order-7", trace_id="ab" * 16)
        job.cancel("because token=abcdef leaked")
    app.close()
    lines = [json.loads(message) for message in caplog.messages]
    assert [(line["from"], line["to"]) for line in lines] == [(None, "queued"), ("queued", "cancelled")]
    assert {(line["correlation_id"], line["trace_id"]) for line in lines} == {("order-7", "ab" * 16)}
    assert lines[1]["reason"] == "because token=[redacted] leaked"
