"""`seal`, `job prove`, `verify`, `audit`: from a log to a proof, and from a forgery to its counterexample."""

import contextlib
import json
import os
import pty
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.kernel.log import SPAN
from tests.cli.conftest import Cli
from tests.cli.seeds import CANONICAL, job_id

PROGRAM = Path(sys.executable).with_name("holdfast")
EVENTS = 17


def change(url: str, sql: str) -> None:
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"))
        with connection:
            connection.execute(sql)
        connection.close()
    else:
        import psycopg

        with psycopg.connect(url) as connected:
            connected.execute(sql)


def test_seal_prove_verify(cli: Cli, seeded_db: str, tmp_path: Path) -> None:
    early = cli("job", "prove", job_id("done"), "--db", seeded_db)
    assert (early.code, early.out) == (1, "")
    assert "run `holdfast seal`" in early.err
    [seal] = cli("seal", "--db", seeded_db, "--json").json
    assert (seal["number"], seal["count"], len(seal["head"])) == (1, EVENTS, 64)
    again = cli("seal", "--db", seeded_db)
    assert (again.code, again.out, again.err) == (0, "", "nothing to seal: the log is sealed up to now\n")
    proof = cli("job", "prove", job_id("done"), "--db", seeded_db)
    assert proof.code == 0
    assert "holdfast verify" in proof.err
    file = tmp_path / "done.json"
    file.write_text(proof.out)
    good = cli("verify", str(file))
    assert (good.code, good.err) == (0, "")
    assert good.out.startswith("ok\n")
    assert job_id("done") in good.out
    told = cli("verify", str(file), "--json").json
    assert (told["ok"], told["problems"], told["job_id"]) == (True, [], job_id("done"))
    assert told["head"] == seal["head"]


def test_a_forged_certificate_does_not_verify(
    cli: Cli, sqlite_db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("seal", "--db", sqlite_db)
    certificate = cli("job", "prove", job_id("canceled"), "--db", sqlite_db).json
    assert certificate["events"][-1]["actor"] == "ann"
    certificate["events"][-1]["actor"] = "bob"
    file = tmp_path / "forged.json"
    file.write_text(json.dumps(certificate))
    bad = cli("verify", str(file))
    assert (bad.code, bad.err) == (1, "")
    assert bad.out.startswith("not ok\n")
    with file.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        from_stdin = cli("verify", "-", "--json")
    assert (from_stdin.code, from_stdin.json["ok"]) == (1, False)
    assert from_stdin.json["problems"]


@pytest.mark.parametrize(("text", "told"), [("{", "is not a certificate"), ("", "is not a certificate")])
def test_what_is_not_even_json(cli: Cli, text: str, told: str) -> None:
    Path("x.json").write_text(text)
    answer = cli("verify", "x.json")
    assert (answer.code, answer.out) == (1, "")
    assert told in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize("text", ["[]", "7", '"x"', "null", "{}"])
def test_json_that_is_no_certificate(cli: Cli, text: str) -> None:
    Path("x.json").write_text(text)
    assert cli("verify", "x.json", "--json").json["ok"] is False


def test_seals_as_a_table(cli: Cli, sqlite_db: str) -> None:
    table = cli("seal", "--db", sqlite_db)
    assert f"{SPAN}–" in table.out
    assert f" {EVENTS} " in table.out
    assert table.err == ""


def test_an_audit_that_finds_nothing(cli: Cli, seeded_db: str) -> None:
    cli("seal", "--db", seeded_db)
    answer = cli("audit", "--db", seeded_db, "-o", "table")
    assert (answer.code, answer.out) == (
        0,
        f"0 violations in {len(CANONICAL)} jobs, {EVENTS} events, 1 seal\n",
    )
    report = cli("audit", "--db", seeded_db, "--json").json
    assert (report["ok"], report["jobs"], report["events"], report["seals"]) == (
        True,
        len(CANONICAL),
        EVENTS,
        1,
    )
    assert (report["unsealed"], report["total_violations"], report["violations"]) == (0, 0, [])


def test_an_audit_that_finds_a_changed_job_and_a_changed_event(cli: Cli, seeded_db: str) -> None:
    cli("seal", "--db", seeded_db)
    change(seeded_db, f"UPDATE holdfast_rest SET state = 'failed' WHERE id = '{job_id('box')}'")
    second = f"SELECT pos FROM holdfast_events WHERE job_id = '{job_id('canceled')}' AND seq = 2"
    change(seeded_db, f"UPDATE holdfast_log SET actor = 'eve' WHERE pos = ({second})")
    answer = cli("audit", "--db", seeded_db, "--json")
    assert answer.code == 1
    found = {(each["invariant"], each["job_id"], each["event"]) for each in answer.json["violations"]}
    assert ("I3", job_id("box"), None) in found
    assert ("I19", job_id("canceled"), 2) in found
    assert answer.json["total_violations"] == len(answer.json["violations"]) == len(found)
    assert {job for _, job, _ in found} == {job_id("box"), job_id("canceled")}


@pytest.mark.slow
def test_what_an_audit_finds_as_a_table_and_as_ids(cli: Cli, sqlite_db: str) -> None:
    change(sqlite_db, f"UPDATE holdfast_rest SET state = 'failed' WHERE id = '{job_id('box')}'")
    table = cli("audit", "--db", sqlite_db)
    assert table.code == 1
    assert "state is 'failed', its events say 'waiting'" in table.out
    assert f"1 violation in {len(CANONICAL)} jobs, {EVENTS} events, 0 seals\n" in table.out
    assert f"{EVENTS} not sealed yet" in table.err
    ids = cli("audit", "--db", sqlite_db, "-o", "ids")
    assert (ids.code, ids.out) == (1, f"{job_id('box')}\n")


@pytest.mark.slow
def test_the_bars_are_on_stderr_and_only_on_a_terminal(sqlite_db: str, tmp_path: Path) -> None:
    screen, stderr = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    command = [str(PROGRAM), "audit", "--db", sqlite_db]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=stderr, text=True
    ) as process:
        os.close(stderr)
        drawn = b""
        # A terminal whose program has ended answers with an error, not with an end.
        with contextlib.suppress(OSError):
            while part := os.read(screen, 65536):
                drawn += part
        os.close(screen)
        stdout, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert b"jobs" in drawn
    assert b"sealed events" in drawn
    assert stdout.startswith("0 violations in ")
    assert "\x1b" not in stdout
