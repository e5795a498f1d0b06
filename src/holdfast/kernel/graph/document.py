"""Graphs from documents and back: DAGs that are sent as data, and graphs that are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.kernel import strictly as doc
from holdfast.kernel.errors import PayloadError
from holdfast.kernel.graph.check import MAX_NODES
from holdfast.kernel.graph.condition_document import parse, parse_path, path_document, to_document
from holdfast.kernel.graph.dag import (
    Branch,
    Case,
    Each,
    Graph,
    Join,
    JoinKind,
    Judged,
    Mode,
    Node,
    NodeOptions,
    OnFailure,
    Predicate,
    Source,
)
from holdfast.kernel.payload.encoding import encode
from holdfast.kernel.strictly import DocumentError

LONGEST_SECONDS = 100 * 365 * 86_400
LAST_MS = 253_402_300_799_999
PRIORITIES = 32_767
GRAPH = ("name", "on_failure", "nodes")
OPTIONS = tuple(NodeOptions.__dataclass_fields__)
NODE = ("name", "task", "args", "after", "join", "branch", "map", "when", "inputs", *OPTIONS)


class _Reader:
    def __init__(self, predicates: frozenset[str] | None) -> None:
        self._predicates = predicates

    def node(self, data: object, at: str) -> Node:
        given = doc.mapping(data, at, NODE)
        return Node(
            name=doc.text(doc.required(given, "name", at), f"{at}.name", longest=100),
            task=doc.text(doc.required(given, "task", at), f"{at}.task", longest=250),
            args=_args(given.get("args", {}), f"{at}.args"),
            after=_names(given.get("after", []), f"{at}.after"),
            join=_join(given.get("join", "all"), f"{at}.join"),
            branch=None if given.get("branch") is None else self._branch(given["branch"], f"{at}.branch"),
            map=None if given.get("map") is None else doc.text(given["map"], f"{at}.map", longest=100),
            when=None if given.get("when") is None else self._judged(given["when"], f"{at}.when"),
            inputs=_inputs(given.get("inputs", {}), f"{at}.inputs"),
            options=options(given, at),
        )

    def _branch(self, data: object, at: str) -> Branch:
        given = doc.mapping(data, at, ("cases", "default", "mode"))
        cases = doc.sequence(doc.required(given, "cases", at), f"{at}.cases")
        return Branch(
            cases=tuple(self._case(case, f"{at}.cases[{number}]") for number, case in enumerate(cases)),
            default=_names(given.get("default", []), f"{at}.default"),
            mode=Mode(doc.choice(given.get("mode", "first"), f"{at}.mode", tuple(Mode))),
        )

    def _case(self, data: object, at: str) -> Case:
        given = doc.mapping(data, at, ("when", "then", "priority"))
        return Case(
            when=self._judged(doc.required(given, "when", at), f"{at}.when"),
            then=_names(doc.required(given, "then", at), f"{at}.then"),
            priority=doc.whole(given.get("priority", 0), f"{at}.priority", least=-PRIORITIES, most=PRIORITIES),
        )

    def _judged(self, data: object, at: str) -> Judged:
        if not isinstance(data, Mapping) or "predicate" not in data:
            return parse(data, at)
        name = doc.text(doc.mapping(data, at, ("predicate",))["predicate"], f"{at}.predicate")
        if self._predicates is not None and name not in self._predicates:
            raise DocumentError(f"{at}.predicate", f"is {doc.shown(name)}, which is Python", "write a condition")
        return Predicate(name)


def read(data: object, predicates: frozenset[str] | None) -> Graph:
    given = doc.mapping(data, "graph", GRAPH)
    nodes = doc.sequence(doc.required(given, "nodes", ""), "nodes")
    if len(nodes) > MAX_NODES:
        raise DocumentError("nodes", f"has {len(nodes)} nodes", f"a flow has at most {MAX_NODES}")
    reader = _Reader(predicates)
    return Graph(
        name=doc.text(doc.required(given, "name", ""), "name", longest=100),
        nodes=tuple(reader.node(node, f"nodes[{number}]") for number, node in enumerate(nodes)),
        on_failure=OnFailure(doc.choice(given.get("on_failure", "fail_fast"), "on_failure", tuple(OnFailure))),
    )


def read_node(data: object) -> Node:
    """One node from its document, as it is kept with its job: what it names was checked with its graph."""
    return _Reader(None).node(data, "node")


def _args(data: object, at: str) -> Mapping[str, Any]:
    args = doc.mapping(data, at)
    try:
        encode(args, what=at)
    except PayloadError as error:
        raise DocumentError(error.field, error.problem, error.remedy) from None
    return dict(args)


def _names(data: object, at: str) -> tuple[str, ...]:
    """Names in a list; one alone may stand without."""
    names = [data] if isinstance(data, str) else doc.sequence(data, at)
    return tuple(doc.text(name, f"{at}[{number}]", longest=100) for number, name in enumerate(names))


def _join(data: object, at: str) -> Join:
    if isinstance(data, Mapping):
        given = doc.mapping(data, at, ("n",))
        return Join(JoinKind.N, doc.whole(doc.required(given, "n", at), f"{at}.n", least=1, most=MAX_NODES))
    if data not in ("all", "any", "all_done"):
        raise DocumentError(at, f"is {doc.shown(data)}", 'one of "all", "any", "all_done", {"n": 2}')
    return Join(JoinKind(str(data)))


def _inputs(data: object, at: str) -> Mapping[str, Source]:
    """By parameter: "parent.key", or {"each": [paths]} for the list of what is there."""
    found: dict[str, Source] = {}
    for name, source in doc.mapping(data, at).items():
        place = f"{at}.{name}"
        if isinstance(source, Mapping):
            paths = doc.sequence(doc.required(doc.mapping(source, place, ("each",)), "each", place), f"{place}.each")
            found[name] = Each(tuple(parse_path(path, f"{place}.each[{n}]") for n, path in enumerate(paths)))
        else:
            found[name] = parse_path(source, place)
    return found


def options(given: Mapping[str, Any], at: str) -> NodeOptions:
    """The options among a node's fields, each checked."""
    known = {name: given[name] for name in OPTIONS if given.get(name) is not None}
    for name, value in known.items():
        where = f"{at}.{name}"
        match name:
            case "queue":
                doc.text(value, where, longest=100)
            case "priority":
                doc.whole(value, where, least=-PRIORITIES, most=PRIORITIES)
            case "retry_limit":
                doc.whole(value, where, least=0, most=1_000)
            case "retry_backoff":
                doc.flag(value, where)
            case "start_after_ms" | "keep_until_ms":
                doc.whole(value, where, least=0, most=LAST_MS)
            case "run_ttl_seconds":
                doc.number(value, where, least=0.001, most=LONGEST_SECONDS)
            case _:
                doc.number(value, where, least=0, most=LONGEST_SECONDS)
    soft, hard = known.get("sla_soft_seconds"), known.get("sla_hard_seconds")
    if soft is not None and hard is not None and soft > hard:
        raise DocumentError(f"{at}.sla_soft_seconds", f"is {soft:g}, beyond the hard {hard:g}", "the soft one is first")
    return NodeOptions(**known)


def write(graph: Graph) -> dict[str, Any]:
    return {"name": graph.name, "on_failure": graph.on_failure.value, "nodes": [write_node(n) for n in graph.nodes]}


def write_node(node: Node) -> dict[str, Any]:
    document: dict[str, Any] = {"name": node.name, "task": node.task}
    if node.args:
        document["args"] = dict(node.args)
    if node.after:
        document["after"] = list(node.after)
    if node.join != Join():
        document["join"] = {"n": node.join.n} if node.join.kind is JoinKind.N else node.join.kind.value
    if node.branch is not None:
        document["branch"] = _branch_written(node.branch)
    if node.map is not None:
        document["map"] = node.map
    if node.when is not None:
        document["when"] = _judged_written(node.when)
    if node.inputs:
        document["inputs"] = {name: _source_written(source) for name, source in node.inputs.items()}
    return document | node.options.given()


def _branch_written(branch: Branch) -> dict[str, Any]:
    cases = [
        {"when": _judged_written(case.when), "then": list(case.then)}
        | ({"priority": case.priority} if case.priority else {})
        for case in branch.cases
    ]
    return {"cases": cases, "default": list(branch.default), "mode": branch.mode.value}


def _judged_written(judged: Judged) -> dict[str, Any]:
    return {"predicate": judged.name} if isinstance(judged, Predicate) else to_document(judged)


def _source_written(source: Source) -> Any:
    if isinstance(source, Each):
        return {"each": [path_document(path) for path in source.paths]}
    return path_document(source)
