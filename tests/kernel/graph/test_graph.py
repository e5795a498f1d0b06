"""A graph is sound or is refused, with the path to what is wrong; as data it survives the way out and back."""

from __future__ import annotations

import json
from time import perf_counter
from typing import Any

import pytest
from hypothesis import given, settings

from holdfast.kernel.graph.check import MAX_NODES, GraphError
from holdfast.kernel.graph.dag import Graph, Join, JoinKind, Mode, Node, OnFailure, Predicate
from holdfast.kernel.graph.inputs import arguments, item_scope, items, scope
from holdfast.kernel.graph.mermaid import mermaid
from holdfast.kernel.strictly import DocumentError
from tests.kernel.graph.strategies import graphs

BIG = {"path": "total", "op": ">", "value": 100}
INVOICE: dict[str, Any] = {
    "name": "invoice",
    "on_failure": "finish",
    "nodes": [
        {"name": "fetch", "task": "fetch", "args": {"url": "u"}, "queue": "net", "retry_limit": 5, "retry_delay": 0.5},
        {
            "name": "parse",
            "task": "parse",
            "after": ["fetch"],
            "inputs": {"html": "fetch.body", "lang": "$input.lang"},
            "branch": {
                "cases": [{"when": BIG, "then": ["review"], "priority": 2}, {"when": {"not": BIG}, "then": ["pay"]}],
                "default": ["log"],
                "mode": "priority",
            },
        },
        {"name": "review", "task": "ask", "after": ["parse"], "when": {"path": "parse.total", "op": "exists"}},
        {"name": "pay", "task": "pay", "after": ["parse"], "map": "parse", "inputs": {"line": "$item"}},
        {"name": "log", "task": "log", "after": ["parse"], "run_ttl_seconds": 30, "priority": -1},
        {
            "name": "close",
            "task": "close",
            "after": ["review", "pay", "log"],
            "join": "all_done",
            "inputs": {"all": "$parents", "some": {"each": ["pay", ["log", "a.b"]]}},
            "sla_soft_seconds": 60,
            "sla_hard_seconds": 90,
            "start_after_ms": 1_700_000_000_000,
        },
    ],
}


def test_a_graph_from_data() -> None:
    graph = Graph.from_dict(INVOICE)
    assert (graph.name, graph.on_failure) == ("invoice", OnFailure.FINISH)
    parse, close = graph.by_name["parse"], graph.by_name["close"]
    assert parse.branch is not None
    assert parse.branch.mode is Mode.PRIORITY
    assert parse.branch.named == {"review", "pay", "log"}
    assert close.join.kind is JoinKind.ALL_DONE
    assert graph.by_name["fetch"].options.given() == {"queue": "net", "retry_limit": 5, "retry_delay": 0.5}
    assert graph.children["parse"] == ("review", "pay", "log")
    assert graph.depths == {"fetch": 0, "parse": 1, "review": 2, "pay": 2, "log": 2, "close": 3}
    assert Graph.from_dict(json.loads(json.dumps(graph.to_dict()))) == graph


def test_one_name_alone_needs_no_list() -> None:
    nodes = [{"name": "a", "task": "t"}, {"name": "b", "task": "t", "after": "a"}]
    assert Graph.from_dict({"name": "g", "nodes": nodes}).by_name["b"].after == ("a",)


def test_a_join_that_counts_may_not_come_after_a_node_that_runs_over_a_list() -> None:
    one, many = {"name": "a", "task": "t"}, {"name": "b", "task": "t", "after": "a", "map": "a"}
    last = {"name": "c", "task": "t", "after": ["a", "b"]}
    for join in ("all", "all_done"):
        Graph.from_dict({"name": "g", "nodes": [one, many, last | {"join": join}]})
    for wrong, shown in (("any", "any"), ({"n": 2}, "2 of")):
        with pytest.raises(GraphError) as caught:
            Graph.from_dict({"name": "g", "nodes": [one, many, last | {"join": wrong}]})
        assert caught.value.field == "nodes[2].join"
        assert str(caught.value).startswith(f"nodes[2].join is {shown}, and 'b' runs over a list: each of its items")
    between = {"name": "d", "task": "t", "after": "b"}
    counts = last | {"after": ["a", "d"], "join": {"n": 2}}
    graph = Graph.from_dict({"name": "g", "nodes": [one, many, between, counts]})
    assert graph.by_name["c"].join == Join(JoinKind.N, 2)
    assert Graph.from_dict(graph.to_dict()) == graph


def changed(node: int, **fields: Any) -> dict[str, Any]:
    nodes = [dict(each) for each in INVOICE["nodes"]]
    nodes[node] |= fields
    return INVOICE | {"nodes": nodes}


def case(**fields: Any) -> dict[str, Any]:
    return {"cases": [{"when": BIG, "then": ["review"]} | fields]}


BAD: list[tuple[Any, str, str]] = [
    ([], "graph", "write an object"),
    ({"nodes": [{"name": "a", "task": "t"}]}, "name", "is missing"),
    ({"name": "g"}, "nodes", "is missing"),
    (INVOICE | {"nodes": {}}, "nodes", "write a list"),
    (INVOICE | {"nodes": []}, "nodes", "a flow has 1 to"),
    (INVOICE | {"name": "a.b"}, "name", "letters, digits"),
    (INVOICE | {"on_failure": "panic"}, "on_failure", "one of fail_fast, finish"),
    (INVOICE | {"color": "red"}, "graph.color", "known: name, on_failure, nodes"),
    (INVOICE | {"nodes": ["a"]}, "nodes[0]", "write an object"),
    (changed(1, task=None), "nodes[1].task", "write a text"),
    (changed(1, name="fetch"), "nodes[1].name", "as nodes[0] is"),
    (changed(1, name="$input"), "nodes[1].name", "letters, digits"),
    (changed(1, nmae="x"), "nodes[1].nmae", "is no known field"),
    (changed(0, args=[1]), "nodes[0].args", "write an object"),
    (changed(0, args={"x": {"y": [float("inf")]}}), "nodes[0].args.x.y[0]", "inf"),
    (changed(1, after=["fetch", "gone"]), "nodes[1].after[1]", "'gone', which is no node"),
    (changed(1, after=["fetch", "fetch"]), "nodes[1].after[1]", "a second time"),
    (changed(1, after=[3]), "nodes[1].after[0]", "write a text"),
    (changed(5, join="some"), "nodes[5].join", 'one of "all"'),
    (changed(5, join={"n": 4}), "nodes[5].join.n", "waits for 4 of 3 parents"),
    (changed(0, join={"n": 1}), "nodes[0].join.n", "add parents"),
    (changed(5, join={"n": True}), "nodes[5].join.n", "whole number"),
    (changed(5, map="fetch"), "nodes[5].map", "one of review, pay, log"),
    (changed(5, inputs={"x": "fetch.body"}), "nodes[5].inputs.x", "begins with 'fetch', which is no parent"),
    (changed(5, inputs={"x": "$item"}), "nodes[5].inputs.x", "begin with one of review, pay, log, $input, $parents"),
    (changed(5, inputs={"x": {"each": ["pay", "a"]}}), "nodes[5].inputs.x", "begins with 'a'"),
    (changed(5, inputs={"x": {"all": []}}), "nodes[5].inputs.x.all", "known: each"),
    (changed(2, when={"and": [BIG]}), "nodes[2].when.and[0].path", "begins with 'total'"),
    (changed(2, when={"predicate": "os.system"}), "nodes[2].when.predicate", "write a condition"),
    (changed(1, map="fetch"), "nodes[1].branch", "stands beside `map`"),
    (changed(1, branch={"cases": []}), "nodes[1].branch.cases", "is empty"),
    (changed(1, branch=case(then=[])), "nodes[1].branch.cases[0].then", "is empty"),
    (changed(1, branch=case(then=["pay", "close"])), "nodes[1].branch.cases[0].then[1]", "add 'parse' to its `after`"),
    (changed(1, branch=case(when={"op": "~"})), "nodes[1].branch.cases[0].when.op", "one of"),
    (changed(1, branch=case(priority=1.5)), "nodes[1].branch.cases[0].priority", "whole number"),
    (changed(1, branch=case() | {"default": ["fetch"]}), "nodes[1].branch.default[0]", "does not come after 'parse'"),
    (changed(1, branch=case() | {"mode": "best"}), "nodes[1].branch.mode", "one of first, all, priority"),
    (changed(0, retry_limit=-1), "nodes[0].retry_limit", "from 0 to"),
    (changed(0, retry_delay="5s"), "nodes[0].retry_delay", "write a number"),
    (changed(0, retry_backoff=1), "nodes[0].retry_backoff", "true or false"),
    (changed(0, run_ttl_seconds=0), "nodes[0].run_ttl_seconds", "from 0.001 to"),
    (changed(0, expire_in_seconds=10**400), "nodes[0].expire_in_seconds", "a huge number"),
    (changed(5, sla_soft_seconds=100), "nodes[5].sla_soft_seconds", "beyond the hard 90"),
    (changed(0, queue=""), "nodes[0].queue", "1 to 100"),
]


@pytest.mark.parametrize(("document", "field", "says"), BAD, ids=lambda value: str(value)[:50])
def test_bad_data_is_told_where_and_how(document: Any, field: str, says: str) -> None:
    with pytest.raises(DocumentError) as error:
        Graph.from_dict(document)
    assert error.value.field == field
    assert says in str(error.value)


def test_predicates_are_read_back_only_where_they_are_known() -> None:
    document = changed(2, when={"predicate": "review.when"})
    for allowed in (None, frozenset({"review.when"})):
        graph = Graph.from_dict(document, predicates=allowed)
        assert graph.by_name["review"].when == Predicate("review.when")
        assert Graph.from_dict(graph.to_dict(), predicates=allowed) == graph


def test_a_cycle_is_shown() -> None:
    nodes = (
        Node("start", "t"),
        Node("a", "t", after=("start", "c")),
        Node("b", "t", after=("a",)),
        Node("c", "t", after=("b",)),
        Node("behind", "t", after=("c",)),
    )
    with pytest.raises(GraphError, match="closes a cycle: a → b → c → a; leave out") as error:
        Graph("round", nodes)
    assert error.value.cycle == ("a", "b", "c", "a")
    assert error.value.field == "nodes[1].after"
    with pytest.raises(GraphError, match="closes a cycle: x → x;"):
        Graph("own", (Node("x", "t", after=("x",)),))


def chain(length: int, first: tuple[str, ...] = ()) -> tuple[Node, ...]:
    rest = (Node(f"n{number}", "t", after=(f"n{number - 1}",)) for number in range(1, length))
    return (Node("n0", "t", after=first), *rest)


@pytest.mark.slow
def test_the_longest_chain_is_a_graph_like_any_other() -> None:
    began = perf_counter()
    graph = Graph("chain", chain(MAX_NODES))
    assert graph.depths[f"n{MAX_NODES - 1}"] == MAX_NODES - 1
    assert graph.order == tuple(node.name for node in graph.nodes)
    assert perf_counter() - began < 30
    with pytest.raises(GraphError, match=r"cycle: n0 → n1 → .* → n11 → \(99988 more\) → n0") as error:
        Graph("ring", chain(MAX_NODES, (f"n{MAX_NODES - 1}",)))
    assert len(error.value.cycle) == MAX_NODES + 1
    with pytest.raises(GraphError, match="has 100001 nodes"):
        Graph("chain", chain(MAX_NODES + 1))


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(graphs())
def test_any_graph_survives_its_document(graph: Graph) -> None:
    assert Graph.from_dict(json.loads(json.dumps(graph.to_dict()))) == graph
    places = {name: place for place, name in enumerate(graph.order)}
    edges = [(parent, node.name) for node in graph.nodes for parent in node.after]
    assert all(places[parent] < places[child] for parent, child in edges)
    assert all(graph.depths[parent] < graph.depths[child] for parent, child in edges)
    assert mermaid(graph, {node.name: "succeeded" for node in graph.nodes}).count("-->") == len(edges)


def test_what_a_node_is_run_with() -> None:
    graph = Graph.from_dict(INVOICE)
    parse, close, pay = (graph.by_name[name] for name in ("parse", "close", "pay"))
    assert arguments(parse, scope({"lang": "de"}, {"fetch": {"body": "<p>"}})) == {"html": "<p>", "lang": "de"}
    # A parent that was skipped is not there; one that returned nothing is.
    assert arguments(close, scope({}, {"log": None, "pay": 3})) == {"all": {"log": None, "pay": 3}, "some": [3]}
    whole = scope({}, {"parse": [10, 20]})
    lines = [arguments(pay, item_scope(whole, item, i)) for i, item in enumerate(items(pay, {"parse": [10, 20]}))]
    assert lines == [{"line": 10}, {"line": 20}]


def test_a_constant_stands_in_for_a_parent_that_did_not_run() -> None:
    node = Node("b", "t", args={"x": 7, "y": 1}, after=("a", "c"), inputs={"x": ("a",), "y": ("c", "z")})
    assert arguments(node, scope({}, {"c": {"z": 2}})) == {"x": 7, "y": 2}
    assert arguments(node, scope({}, {"a": None, "c": {}})) == {"x": None, "y": 1}


def test_only_a_list_can_be_mapped() -> None:
    node = Node("b", "t", after=("a",), map="a")
    assert items(node, {}) == []
    with pytest.raises(DocumentError, match=r"b.map found 'abc'; a must return a list"):
        items(node, {"a": "abc"})
    with pytest.raises(DocumentError, match="at most 10000"):
        items(node, {"a": [0] * 10_001})


def test_the_diagram() -> None:
    graph = Graph.from_dict(INVOICE)
    assert mermaid(graph).splitlines() == [
        "flowchart TD",
        '    n0["fetch"]',
        '    n1{"parse"}',
        '    n2["review<br/>when parse.total exists"]',
        '    n3[["pay<br/>each of parse"]]',
        '    n4["log"]',
        '    n5["close<br/>all done"]',
        "    n0 --> n1",
        '    n1 -->|"total #gt; 100"| n2',
        '    n1 -->|"not (total #gt; 100)"| n3',
        '    n1 -->|"otherwise"| n4',
        "    n2 --> n5",
        "    n3 --> n5",
        "    n4 --> n5",
    ]
    shown = mermaid(
        graph, {"fetch": "succeeded", "parse": "running", "log": "skipped", "close": "expired", "?": "failed"}
    )
    assert '    n0["fetch<br/>succeeded"]' in shown
    assert "    class n1 running" in shown
    assert '    n1 -.->|"otherwise"| n4' in shown
    assert "    class n5 bad" in shown
