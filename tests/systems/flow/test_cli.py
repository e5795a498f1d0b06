"""`holdfast flow`: what it prints, where, and how it exits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast import Engine
from holdfast.cli import main
from holdfast.testing import drain
from tests.systems.flow.invoices import declare
from tests.working import working

APP = "tests.systems.flow.invoices:app"


@pytest.fixture
def cli(database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.setenv("COLUMNS", "160")

    def run(*words: str) -> tuple[int, str, str]:
        code = main(["--db", database, "--app", APP, *words])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return run


@pytest.fixture
def worker(database: str) -> Iterator[Engine]:
    engine = Engine(database)
    declare(engine)
    yield engine
    engine.close()


@pytest.mark.slow
def test_run_list_show_cancel_resume(cli: Any, worker: Engine) -> None:
    code, out, err = cli("flow", "run", "invoice", "-i", "doc=2024-17", "--key", "k")
    assert (code, "ACTIVE, 7 nodes" in err) == (0, True)
    flow_id = out.strip()
    code, out, err = cli("flow", "run", "invoice", "-i", "doc=2024-17", "--key", "k")
    assert (code, out.strip(), "a flow has this key" in err) == (0, flow_id, True)
    code, out, _ = cli("flow", "list", "--json")
    [listed] = json.loads(out)["items"]
    assert (listed["id"], listed["state"], listed["counts"]["open"]) == (flow_id, "ACTIVE", 7)
    code, out, _ = cli("flow", "show", flow_id)
    assert "waits for pay (CREATED) and review (CREATED), all of them" in out
    code, out, _ = cli("flow", "cancel", flow_id, "-r", "not now")
    assert (code, out.split()[:3]) == (0, [flow_id, "invoice", "CANCELLED"])
    code, _, err = cli("flow", "cancel", flow_id)
    assert (code, "no cancel from CANCELLED" in err) == (5, True)
    code, out, _ = cli("flow", "list", "invoice", "-s", "CANCELLED", "-o", "ids")
    assert out.split() == [flow_id]
    code, out, _ = cli("flow", "resume", flow_id, "--json")
    assert (code, json.loads(out)["state"]) == (0, "ACTIVE")
    assert cli("flow", "resume", flow_id)[0] == 5
    drain(worker)
    code, out, _ = cli("flow", "watch", flow_id)
    assert (code, json.loads(out)) == (0, {"close": "paid 3", "total": 30})
    code, out, _ = cli("job", "wait", flow_id)
    assert (code, json.loads(out)) == (0, {"close": "paid 3", "total": 30})
    code, out, err = cli("job", "show", flow_id)
    assert (code, f"holdfast flow show {flow_id}" in err) == (0, True)
    code, out, _ = cli("flow", "show", flow_id)
    assert "runs over a list of 2" in out
    code, out, _ = cli("flow", "show", flow_id, "-o", "jsonl")
    assert {node["state"] for node in json.loads(out)["nodes"]} == {"COMPLETED", "SKIPPED"}


@pytest.mark.slow
def test_waiting_shows_nodes_on_stderr_and_the_result_on_stdout(cli: Any, worker: Engine) -> None:
    with working(worker):
        code, out, err = cli("flow", "run", "invoice", "-i", "doc=x", "--wait")
        assert (code, json.loads(out)) == (0, {"close": "paid 3", "total": 30})
        assert "review: SKIPPED, skipped because check chose pay (branch_not_taken)" in err.splitlines()
        code, out, err = cli("flow", "run", "invoice", "-i", "doc=line 2 is broken", "-w")
        assert (code, out) == (10, "")
        assert "line[1]: FAILED, ValueError: line 2 is smeared" in err.splitlines()
        [flow_id] = cli("flow", "list", "-s", "FAILED", "-o", "ids")[1].split()
    code, out, err = cli("flow", "retry", flow_id)
    assert (code, out.split()[1], f"it goes on with {flow_id}" in err) == (0, "ACTIVE", True)
    new = out.split()[0]
    code, out, err = cli("flow", "retry", flow_id)
    assert (code, out.split()[0], "was retried before" in err) == (0, new, True)
    code, out, _ = cli("flow", "show", new)
    assert "kept from the flow before" in out
    assert flow_id in out
    assert cli("flow", "retry", new)[0] == 5, "it is under way"
    assert cli("flow", "watch", new, "-t", "50ms")[0] == 124


def test_several_are_only_shown_until_yes_is_said(cli: Any, worker: Engine) -> None:
    ids = [cli("flow", "run", "invoice", "-i", "doc=x")[1].strip() for _ in range(2)]
    code, out, err = cli("flow", "cancel", *ids)
    assert (code, "dry run: 2 jobs would be cancelled" in err) == (0, True)
    code, out, _ = cli("flow", "cancel", "--name", "invoice", "--yes", "--json")
    report = json.loads(out)
    assert (code, report["count"], report["dry_run"]) == (0, 2, False)
    assert {item["state"] for item in report["items"]} == {"CANCELLED"}
    assert cli("flow", "cancel")[0] == 2
    code, _, err = cli("flow", "cancel", *ids, "--yes")
    assert (code, err.count("stays: ")) == (5, 2)


def test_the_graph_before_it_runs_and_as_it_ran(cli: Any, worker: Engine) -> None:
    code, out, _ = cli("flow", "graph", "invoice", "--mermaid")
    assert (code, out.splitlines()[0]) == (0, "flowchart TD")
    assert 'n1 -->|"result #gt; 100"| n3' in out
    assert "classDef" not in out, "it has no states yet"
    code, out, _ = cli("flow", "graph", "invoice")
    assert "result > 100 → review; else → pay" in out
    code, out, _ = cli("flow", "graph", "invoice", "--json")
    document = json.loads(out)
    assert [node["name"] for node in document["nodes"]][:2] == ["fetch", "check"]
    assert document["nodes"][0]["state"] is None
    flow_id = cli("flow", "run", "invoice", "-i", "doc=x")[1].strip()
    drain(worker)
    code, out, _ = cli("flow", "graph", flow_id, "--mermaid")
    assert (code, '["review<br/>skipped"]' in out, "class n0,n1" in out) == (0, True, True)
    code, out, _ = cli("flow", "graph", flow_id, "-o", "json")
    assert {node["name"]: node["state"] for node in json.loads(out)["nodes"]}["review"] == "skipped"


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)  # what it says depends on no store
def test_a_dag_from_a_file(cli: Any, worker: Engine, tmp_path: Path) -> None:
    file = tmp_path / "dag.json"
    nodes = [{"name": "one", "task": "double"}, {"name": "two", "task": "plus", "after": "one"}]
    file.write_text(json.dumps({"nodes": nodes}))
    flow_id = cli("flow", "run", "sums", "-f", str(file), "-i", "n=3")[1].strip()
    drain(worker)
    assert json.loads(cli("flow", "watch", flow_id)[1]) == {"two": 7}
    nodes[0]["after"] = "two"
    file.write_text(json.dumps({"nodes": nodes}))
    code, _, err = cli("flow", "run", "sums", "-f", str(file), "-i", "n=3")
    assert (code, "nodes[0].after closes a cycle: one → two → one" in err) == (2, True)
    for text, says in (("[]", "is no object"), ("{", "is no JSON"), (None, "cannot be read")):
        file.unlink() if text is None else file.write_text(text)
        code, _, err = cli("flow", "run", "sums", "-f", str(file))
        assert (code, says in err) == (2, True)


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)  # what it says depends on no store
def test_mistakes(cli: Any) -> None:
    code, _, err = cli("flow", "run", "gone")
    assert (code, "declared here: invoice" in err) == (3, True)
    code, _, err = cli("flow", "run", "invoice", "-i", "doc=3")
    assert (code, "doc: Expected `str`" in err) == (2, True)
    assert cli("flow", "run", "invoice", "-i", "doc")[0] == 2
    cli("db", "migrate")
    for verb in ("show", "cancel", "resume", "retry", "watch", "graph"):
        assert cli("flow", verb, "01a1eee2-4b23-7786-9a27-d82c7b48938e")[0] == 3
    assert cli("flow", "graph", "gone")[0] == 3
    code, out, err = cli("flow", "list")
    assert (code, out, "no flows" in err) == (0, "", True)
    assert cli("flow", "list", "-s", "asleep")[0] == 2
