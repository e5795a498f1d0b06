"""`holdfast lifecycle`: what it prints is what the tables declare."""

import json
import re
from pathlib import Path

import pytest

from holdfast.catalog import KNOWN
from holdfast.cli.proof import lifecycle_page
from holdfast.cli.proof.mermaid import diagram
from holdfast.kernel.lifecycle import Lifecycle
from tests.cli.conftest import Cli

ROOT = Path(__file__).resolve().parents[2]


def labels(cli: Cli, name: str) -> list[str]:
    answer = cli("lifecycle", "show", name, "--json")
    assert (answer.code, answer.err) == (0, "")
    assert answer.json["name"] == name
    return list(dict.fromkeys(state["label"] for state in answer.json["states"]))


@pytest.mark.rule("C01")
def test_the_states_of_crawl(cli: Cli) -> None:
    assert labels(cli, "crawl") == ["queued", "running", "retry_pending", "succeeded", "failed", "canceled"]


@pytest.mark.rule("D01")
def test_the_states_of_durable(cli: Cli) -> None:
    assert labels(cli, "durable") == [
        "queued",
        "assigned",
        "running",
        "succeeded",
        "failed",
        "cancelled",
        "dead_lettered",
    ]


@pytest.mark.rule("P01")
def test_the_states_of_pipeline(cli: Cli) -> None:
    assert labels(cli, "pipeline") == ["PENDING", "RUNNING", "COMPLETED", "PARTIAL", "FAILED", "CANCELLED"]
    states = cli("lifecycle", "show", "pipeline", "--json").json["states"]
    assert [s["label"] for s in states if s["terminal"]] == ["COMPLETED", "PARTIAL", "FAILED", "CANCELLED"]


@pytest.mark.rule("W01", "W14")
def test_the_states_of_workflow(cli: Cli) -> None:
    ends = ["COMPLETED", "SKIPPED", "EXPIRED", "CANCELLED", "FAILED"]
    assert labels(cli, "workflow") == ["CREATED", "RETRY", "ACTIVE", *ends]
    states = cli("lifecycle", "show", "workflow", "--json").json["states"]
    assert [s["label"] for s in states if s["terminal"]] == ends
    assert [s["label"] for s in states if s["successful"]] == ["COMPLETED", "SKIPPED"]
    assert list(map(str, KNOWN["workflow"].terminal_states())) == ends
    for state in KNOWN["workflow"].states:
        told = next(s for s in states if s["canonical"] == state.canonical)
        assert told["terminal"] == state.is_terminal()
        assert told["successful"] == state.is_successful_terminal()
        assert state.was_executed() == (state in {"COMPLETED", "EXPIRED", "FAILED"})


@pytest.mark.rule("S02")
def test_the_states_and_ways_of_sandbox(cli: Cli) -> None:
    ends = ["completed", "failed", "timed_out", "cancelled"]
    assert labels(cli, "sandbox") == ["pending", "starting", "running", *ends, "cleaning", "cleaned"]
    rows = cli("lifecycle", "show", "sandbox", "--json").json["transitions"]
    ways = {(row["source"], row["target"]) for row in rows if not row["opens_attempt"]} - {("pending", "pending")}
    assert ways == {
        ("pending", "starting"),
        ("starting", "running"),
        *(("running", end) for end in ends),
        *((end, "cleaning") for end in ends),
        ("cleaning", "cleaned"),
        ("pending", "cancelled"),
        ("starting", "cancelled"),
        ("starting", "failed"),
    }


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_shown_as_json_makes_the_same_lifecycle_again(cli: Cli, name: str) -> None:
    shown = cli("lifecycle", "show", name, "-o", "json").json
    assert Lifecycle.from_dict(shown) == KNOWN[name]
    wanted = {"source", "command", "target", "event", "opens_attempt"}
    assert all(wanted <= row.keys() for row in shown["transitions"])


@pytest.mark.parametrize("name", KNOWN)
def test_the_table_shows_every_state_row_and_policy(cli: Cli, name: str) -> None:
    lines = cli("lifecycle", "show", name).out.splitlines()
    table = KNOWN[name]
    for state in table.states:
        assert any(re.match(rf"{state} +{state.canonical.value} +{state.canonical.rank}\b", line) for line in lines)
    for row in table.transitions:
        source, target = table.state(row.source), table.state(row.target)
        ends = [rf"{state}( \({state.canonical.value}\))?" for state in (source, target)]
        way = rf"{ends[0]} +{row.command} +{ends[1]} +{row.event}"
        assert any(re.match(way, line) for line in lines), str(row)
    assert any(re.match(r"lease +(60|90) s", line) for line in lines)


@pytest.mark.parametrize("name", KNOWN)
def test_the_diagram_has_a_node_of_its_own_for_every_canonical_state(cli: Cli, name: str) -> None:
    table = KNOWN[name]
    lines = cli("lifecycle", "show", name, "--mermaid").out.splitlines()
    assert lines[0] == "stateDiagram-v2"
    node, edge = (
        re.compile(r'    state "([^"]+)" as (\w+)'),
        re.compile(r"    (\w+|\[\*\]) --> (\w+|\[\*\])(: [\w ,()]+)?"),
    )
    nodes = {match[2]: match[1] for line in lines if (match := node.fullmatch(line))}
    edges = [match for line in lines if (match := edge.fullmatch(line))]
    assert list(nodes) == [state.canonical.value for state in table.states]
    assert len(set(nodes.values())) == len(nodes)
    assert all(nodes[state.canonical.value].split(" ")[0] == state for state in table.states)
    assert len(nodes) + len(edges) + 1 == len(lines)
    assert {end for match in edges for end in match.group(1, 2)} <= nodes.keys() | {"[*]"}
    for row in table.transitions:
        words = [m[3] for m in edges if m.group(1, 2) == (row.source.value, row.target.value)]
        assert any(str(row.command) in re.findall(r"\w+", word) for word in words)


def test_a_list_of_what_there_is(cli: Cli, sqlite_db: str) -> None:
    assert cli("lifecycle", "list", "-o", "ids").out.split() == list(KNOWN)
    names = cli("lifecycle", "list", "-o", "ids", "--db", sqlite_db).out.split()
    assert names == [*KNOWN, "review"]
    assert "registered" in cli("lifecycle", "list", "--db", sqlite_db).out
    assert cli("lifecycle", "show", "review", "--json", "--db", sqlite_db).json["states"][0]["label"] == "open"


def test_an_unknown_lifecycle_is_not_found(cli: Cli) -> None:
    answer = cli("lifecycle", "show", "shop")
    assert (answer.code, answer.out) == (3, "")
    assert answer.err == f"holdfast: no lifecycle 'shop'; there are: {', '.join(KNOWN)}\n"


TABLE = """
from holdfast.kernel.lifecycle import Lifecycle, Transition
from holdfast.kernel.state import Canonical as S, State

OTHER = 7
{name} = Lifecycle(
    name="shop",
    states=(State("open", S.QUEUED), State("at work", S.RUNNING), State("sold", S.SUCCEEDED)),
    transitions=(
        Transition(S.QUEUED, "claim", S.RUNNING, "job_started"),
        Transition(S.RUNNING, "lose", S.QUEUED, "job_lost", opens_attempt={opens}),
        Transition(S.RUNNING, "succeed", S.SUCCEEDED, "job_sold"),
    ),
)
"""


def test_a_good_table_of_ones_own(cli: Cli) -> None:
    Path("good_shop.py").write_text(TABLE.format(name="SHOP", opens=True))
    answer = cli("lifecycle", "check", "good_shop:SHOP")
    assert (answer.code, answer.out, answer.err) == (0, "ok: shop, 3 states, 3 rows\n", "")
    missing = cli("lifecycle", "check", "good_shop:STORE")
    assert missing.code == 3
    assert "it has: SHOP" in missing.err
    assert cli("lifecycle", "check", "good_shop:OTHER").code == 2


def test_a_bad_table_is_shown_with_its_counterexample(cli: Cli) -> None:
    Path("bad_shop.py").write_text(TABLE.format(name="SHOP", opens=False))
    answer = cli("lifecycle", "check", "bad_shop:SHOP")
    assert answer.code == 1
    assert "breaks backward-in-attempt" in answer.out
    assert "1. running --lose--> queued (job_lost)" in answer.out
    told = cli("lifecycle", "check", "bad_shop:SHOP", "--json")
    assert (told.code, told.json["ok"], told.json["rule"]) == (1, False, "backward-in-attempt")
    assert told.json["path"] == ["running --lose--> queued (job_lost)"]


@pytest.mark.parametrize(("where", "code"), [("nowhere_at_all:X", 3), ("no_colon", 2), (":X", 2), ("json:", 2)])
def test_what_cannot_be_checked(cli: Cli, where: str, code: int) -> None:
    answer = cli("lifecycle", "check", where)
    assert (answer.code, answer.out) == (code, "")
    assert answer.err.startswith("holdfast: ")
    assert answer.err.count("\n") == 1


def test_a_module_that_breaks_by_itself(cli: Cli) -> None:
    Path("broken_shop.py").write_text("import a_module_that_is_not_there\n")
    answer = cli("lifecycle", "check", "broken_shop:SHOP")
    assert answer.code == 1
    assert "a_module_that_is_not_there" in answer.err
    Path("raising_shop.py").write_text("1 / 0\n")
    answer = cli("lifecycle", "check", "raising_shop:SHOP")
    assert answer.code == 1
    assert "ZeroDivisionError" in answer.err


def test_the_reference_page_is_what_the_tables_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    committed = (ROOT / lifecycle_page.PAGE).read_text(encoding="utf-8")
    assert committed == lifecycle_page.page(), "run `make docs` and commit docs/reference/lifecycles.md"
    monkeypatch.setattr("sys.argv", ["lifecycle_page", str(tmp_path / "sub" / "page.md")])
    lifecycle_page.main()
    assert (tmp_path / "sub" / "page.md").read_text(encoding="utf-8") == committed


def test_the_page_tells_every_row_and_diagram() -> None:
    page = lifecycle_page.page()
    for table in KNOWN.values():
        section = page.split(f"\n## {table.name}\n")[1].split("\n## ")[0]
        assert diagram(table) in section
        assert all(f"| {row.command} |" in section and f"| {row.event} |" in section for row in table.transitions)


def test_ids_and_lines(cli: Cli) -> None:
    assert cli("lifecycle", "show", "durable", "-o", "ids").out == "durable\n"
    lines = cli("lifecycle", "list", "-o", "jsonl").out.splitlines()
    assert [json.loads(line)["name"] for line in lines] == list(KNOWN)
