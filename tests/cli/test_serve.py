"""`holdfast serve`, `dev`, `key` and `api`: as a user types them."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast.config import ConfigError, load
from tests.cli.conftest import Cli

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sys.executable).with_name("holdfast")
SHOP = """
from holdfast import Engine

app = Engine()


@app.task
def price(pence: int) -> str:
    return f"{pence} p"
"""


class Running:
    """A process of ours, and what it has said on stderr so far."""

    def __init__(self, process: subprocess.Popen[str], said: Path) -> None:
        self.process, self._said = process, said

    @property
    def said(self) -> str:
        return self._said.read_text()

    def until(self, pattern: str, timeout_s: float = 30.0) -> re.Match[str]:
        end_s = time.monotonic() + timeout_s
        while not (found := re.search(pattern, self.said)):
            assert self.process.poll() is None, self.said
            assert time.monotonic() < end_s, self.said
            time.sleep(0.02)
        return found

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)


@contextmanager
def running(folder: Path, *words: str) -> Iterator[Running]:
    said = folder / "stderr.txt"
    with said.open("w") as err:
        process = subprocess.Popen(
            [str(PROGRAM), *words],
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", "HOLDFAST_DB": f"sqlite:///{folder}/jobs.db"},
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=err,
        )
    try:
        yield Running(process, said)
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=30)


@pytest.fixture
def served(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """A server on a free port; `holdfast api` finds it."""
    with running(tmp_path, "serve", "--port", "0") as server:
        url = server.until(r"listening on (http://127\.0\.0\.1:\d+)")[1]
        monkeypatch.setenv("HOLDFAST_URL", url)
        monkeypatch.setenv("HOLDFAST_DB", f"sqlite:///{tmp_path}/jobs.db")
        monkeypatch.delenv("HOLDFAST_KEY", raising=False)
        yield server


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_until_it_is_told_to_stop(served: Running, cli: Cli, number: int) -> None:
    answer = cli("api", "GET", "/healthz")
    assert (answer.code, answer.err) == (0, "")
    assert cli("api", "get", "/api/openapi.json").json["info"]["title"] == "Holdfast"
    assert cli("api", "GET", "/docs").out.startswith("<!doctype html>")
    missing = cli("api", "GET", "nothing")
    assert (missing.code, missing.json["code"], missing.err) == (3, "not_found", "404 Not Found\n")
    assert cli("api", "DELETE", "/healthz").code == 2
    assert served.end(number) == 0
    assert served.process.stdout is not None
    assert served.process.stdout.read() == ""
    # Nobody watches: whoever gathers the lines finds JSON in each of them.
    assert [json.loads(line)["event"] for line in served.said.splitlines()][-1] == "stopping"
    gone = cli("api", "GET", "/healthz")
    assert (gone.code, gone.out) == (6, "")
    assert "holdfast serve" in gone.err


@pytest.mark.slow
def test_a_key_from_its_making_to_its_end(served: Running, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    made = cli("key", "create", "ops", "--scope", "read", "--expires", "30d")
    token = made.out.strip()
    assert made.code == 0
    assert re.fullmatch(r"hf_[0-9a-f]{12}_[\w-]{43}", token)
    assert "only time" in made.err
    assert token not in made.err
    assert cli("api", "GET", "/openapi.json", "--key", token).code == 0
    monkeypatch.setenv("HOLDFAST_KEY", token)
    assert cli("api", "GET", "/openapi.json").code == 0
    [view] = cli("key", "list", "--json").json
    assert (view["name"], view["scope"], view["state"]) == ("ops", "read", "live")
    assert view["last_used_at"] is not None
    assert token.split("_", 2)[2] not in json.dumps(view)
    assert cli("key", "revoke", view["id"]).code == 0
    refused = cli("api", "GET", "/openapi.json")
    assert (refused.code, refused.json["code"]) == (4, "unauthorized")
    assert [view["state"] for view in cli("key", "list", "--json").json] == ["revoked"]


def test_keys_on_either_store(cli: Cli, empty_db: str) -> None:
    assert cli("--db", empty_db, "db", "migrate").code == 0
    assert cli("--db", empty_db, "key", "list").err.startswith("there are no keys")
    made = cli("--db", empty_db, "key", "create", "importer", "--scope", "write", "--json").json
    assert made["key"].startswith(f"hf_{made['id']}_")
    assert "importer" in cli("--db", empty_db, "key", "list").out
    assert cli("--db", empty_db, "key", "list", "-o", "ids").out == f"{made['id']}\n"
    # By the whole key too: it is what one has at hand when it has leaked.
    assert cli("--db", empty_db, "key", "revoke", made["key"]).code == 0
    assert cli("--db", empty_db, "key", "list", "--json").json[0]["state"] == "revoked"


def test_a_key_ends_after_a_while_and_never_later_for_it(cli: Cli, empty_db: str) -> None:
    def key(*words: str) -> Any:
        answer = cli("--db", empty_db, "key", *words, "--json")
        assert answer.code == 0, answer.err
        return answer.json

    assert cli("--db", empty_db, "db", "migrate").code == 0
    lasting = key("create", "old", "--scope", "read")
    ends = key("expire", lasting["key"], "--after", "1h")
    assert (ends["state"], ends["created_at"] < ends["expires_at"]) == ("live", True)
    assert key("expire", lasting["id"], "--after", "2h")["expires_at"] == ends["expires_at"]
    assert key("expire", lasting["id"], "--after", "0s")["state"] == "expired"
    assert [each["state"] for each in key("list")] == ["expired"]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["key", "create", "x"], 2, "scope"),
        (["key", "create", "x", "--scope", "root"], 2, "root"),
        (["key", "create", "x", "--scope", "read", "--expires", "soon"], 2, "expires"),
        (["key", "create", " ", "--scope", "read"], 2, "name"),
        (["key", "revoke", "nothing"], 3, "no key 'nothing'"),
        (["key", "expire", "nothing", "--after", "1h"], 3, "no key 'nothing'"),
        (["key", "expire", "nothing", "--after", "soon"], 2, "after"),
        (["api", "FETCH", "/jobs"], 2, "FETCH"),
        (["api", "POST", "/jobs", "--data", "{"], 2, "--data"),
        (["api", "GET", "/jobs", "--url", "ftp://x"], 2, "no address of a server"),
        (["serve", "--port", "70000"], 2, "70000"),
        (["serve", "--host", "0.0.0.0"], 2, "holdfast key create"),
        (["serve", "nothing:app"], 3, "no module 'nothing'"),
        (["dev", "--no-reload", "nothing"], 2, "module:name"),
    ],
)
def test_what_goes_wrong_is_one_line(cli: Cli, tmp_path: Path, words: list[str], code: int, told: str) -> None:
    assert cli("db", "migrate").code == 0
    answer = cli(*words)
    assert (answer.code, answer.out) == (code, "")
    assert told in answer.err
    assert answer.err.count("\n") == 1


def test_settings_of_servers(tmp_path: Path) -> None:
    def port(**environment: str) -> int:
        return load(environment=environment, folder=tmp_path).port

    assert port() == 54322
    assert port(HOLDFAST_PORT="8080") == 8080
    assert port(HOLDFAST_PORT="tcp://10.0.0.1:54322") == 54322
    for wrong in ("x", "-1", "65536", "٣"):
        with pytest.raises(ConfigError) as refused:
            port(HOLDFAST_PORT=wrong)
        assert refused.value.field == "port"
    found = load(environment={"HOLDFAST_URL": "https://jobs.example.org", "HOLDFAST_KEY": "hf_x"}, folder=tmp_path)
    assert (found.url, found.key) == ("https://jobs.example.org", "hf_x")
    assert "hf_x" not in repr(found)
    for wrong in ("x", "ftp://x", "http://", "http://[x"):
        with pytest.raises(ConfigError) as refused:
            load({"url": wrong}, environment={}, folder=tmp_path)
        assert refused.value.field == "url"


@pytest.mark.slow
def test_dev_starts_anew_when_a_file_changes(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_DB", f"sqlite:///{tmp_path}/jobs.db")
    shop = tmp_path / "shop.py"
    shop.write_text(SHOP)
    with running(tmp_path, "dev", "shop:app", "--port", "0") as server:
        first = server.until(r"listening on (\S+)")[1]
        server.until("tasks     price")
        assert cli("api", "GET", "/healthz", "--url", first).code == 0
        shop.write_text(SHOP.replace("def price", "def cost"))
        server.until("shop.py changed: starting anew")
        server.until("tasks     cost")
        shop.write_text("broken(")
        server.until("exit code 1; waiting for a change")
        shop.write_text(SHOP.replace("def price", "def value"))
        server.until("tasks     value")
        url = re.findall(r"listening on (\S+)", server.said)[-1]
        assert cli("api", "GET", "/healthz", "--url", url).code == 0
        assert server.end(signal.SIGINT) == 0
        assert cli("api", "GET", "/healthz", "--url", url).code == 6


@pytest.mark.slow
def test_dev_without_an_app_has_tasks_to_play_with(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_DB", f"sqlite:///{tmp_path}/jobs.db")
    with running(tmp_path, "dev", "--port", "0") as server:
        url = server.until(r"listening on (\S+)")[1]
        server.until("tasks     .*words")
        command = server.until(r"try       holdfast (.*) run words")[1]
        place = command.removeprefix("--app ")
        done = subprocess.run(
            [str(PROGRAM), "--app", place, "run", "words", "-a", "text=a b", "--wait", "--timeout", "30s"],
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", "HOLDFAST_DB": f"sqlite:///{tmp_path}/jobs.db"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr
        # The watching process is killed: what it started goes with it.
        server.process.kill()
        end_s = time.monotonic() + 20
        while cli("api", "GET", "/healthz", "--url", url).code == 0:
            assert time.monotonic() < end_s
            time.sleep(0.1)
