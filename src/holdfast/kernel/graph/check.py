"""The check that runs when a graph is built: a bad one is refused with the node, or the cycle, that shows it.

Nothing here recurses: a chain of a hundred thousand nodes is a graph like any other.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from holdfast.kernel.graph.conditions import Path, paths
from holdfast.kernel.graph.dag import INDEX, INPUT, ITEM, PARENTS, Each, JoinKind, Predicate
from holdfast.kernel.strictly import DocumentError, shown

if TYPE_CHECKING:
    from holdfast.kernel.graph.dag import Graph, Node

MAX_NODES = 100_000
MAX_EDGES = 1_000_000
NAME = re.compile(r"[\w-]{1,100}")
CYCLE_SHOWN = 12


class GraphError(DocumentError):
    """The graph is not sound. `cycle` holds the names of a circle of nodes, where that is what is wrong."""

    def __init__(self, field: str, problem: str, remedy: str, cycle: tuple[str, ...] = ()) -> None:
        super().__init__(field, problem, remedy)
        self.cycle = cycle


def check(graph: Graph) -> None:
    """Raise GraphError for the first thing that is wrong."""
    _names(graph)
    _parents(graph)
    for number, node in enumerate(graph.nodes):
        _node(f"nodes[{number}]", node)
    _joins(graph)
    _branches(graph)
    order(graph)


def _names(graph: Graph) -> None:
    if not NAME.fullmatch(graph.name):
        raise GraphError("name", f"is {shown(graph.name)}", "1 to 100 letters, digits, _ or -")
    if not 0 < len(graph.nodes) <= MAX_NODES:
        raise GraphError("nodes", f"has {len(graph.nodes)} nodes", f"a flow has 1 to {MAX_NODES}")
    if (edges := sum(len(node.after) for node in graph.nodes)) > MAX_EDGES:
        raise GraphError("nodes", f"have {edges} edges", f"a flow has at most {MAX_EDGES}")
    seen: dict[str, int] = {}
    for number, node in enumerate(graph.nodes):
        at = f"nodes[{number}].name"
        if not NAME.fullmatch(node.name):
            raise GraphError(at, f"is {shown(node.name)}", "1 to 100 letters, digits, _ or -")
        if (first := seen.setdefault(node.name, number)) != number:
            raise GraphError(at, f"is {node.name!r}, as nodes[{first}] is", "give each node a name of its own")


def _parents(graph: Graph) -> None:
    for number, node in enumerate(graph.nodes):
        seen: set[str] = set()
        for place, parent in enumerate(node.after):
            at = f"nodes[{number}].after[{place}]"
            if parent not in graph.by_name:
                raise GraphError(at, f"is {shown(parent)}, which is no node", "name a node of this flow")
            if parent in seen:
                raise GraphError(at, f"is {parent!r} a second time", "name each parent once")
            seen.add(parent)


def _node(at: str, node: Node) -> None:
    if node.join.kind is JoinKind.N and not 1 <= node.join.n <= len(node.after):
        problem = f"waits for {node.join.n} of {len(node.after)} parents"
        raise GraphError(f"{at}.join.n", problem, f"from 1 to {len(node.after)}" if node.after else "add parents")
    if node.map is not None and node.map not in node.after:
        raise GraphError(f"{at}.map", f"is {shown(node.map)}, which is no parent", f"one of {_listed(node)}")
    if node.map is not None and node.branch is not None:
        raise GraphError(f"{at}.branch", "stands beside `map`", "let a node behind it judge the list of results")
    roots = {*node.after, INPUT, PARENTS}
    if node.when is not None and not isinstance(node.when, Predicate):
        for path, where in paths(node.when):
            _root(f"{at}.when{where}.path", path, roots, node)
    if node.map is not None:
        roots |= {ITEM, INDEX}
    for parameter, source in node.inputs.items():
        for path in source.paths if isinstance(source, Each) else (source,):
            _root(f"{at}.inputs.{parameter}", path, roots, node)


def _root(at: str, path: Path, roots: set[str], node: Node) -> None:
    root = path[0] if path else ""
    if root not in roots:
        beginnings = ", ".join([*node.after[:8], *sorted(root for root in roots if root.startswith("$"))])
        raise GraphError(at, f"begins with {shown(root)}, which is no parent", f"begin with one of {beginnings}")


def _listed(node: Node) -> str:
    return ", ".join(node.after[:8]) or "its parents, once it has some"


def _joins(graph: Graph) -> None:
    for number, node in enumerate(graph.nodes):
        if node.join.kind not in (JoinKind.ANY, JoinKind.N):
            continue
        for parent in node.after:
            if graph.by_name[parent].map is not None:
                problem = f"is {node.join!s}, and {parent!r} runs over a list: each of its items would count"
                raise GraphError(f"nodes[{number}].join", problem, f"all or all_done, or a node after {parent!r} alone")


def _branches(graph: Graph) -> None:
    for number, node in enumerate(graph.nodes):
        if node.branch is None:
            continue
        at = f"nodes[{number}].branch"
        children = frozenset(graph.children[node.name])
        if not node.branch.cases:
            raise GraphError(f"{at}.cases", "is empty", "give at least one case")
        named = [(f"{at}.cases[{i}].then", case.then) for i, case in enumerate(node.branch.cases)]
        for where, targets in [*named, (f"{at}.default", node.branch.default)]:
            if not targets and not where.endswith("default"):
                raise GraphError(where, "is empty", "name the children that this case takes")
            for place, target in enumerate(targets):
                if target not in children:
                    problem = f"is {shown(target)}, which does not come after {node.name!r}"
                    raise GraphError(f"{where}[{place}]", problem, f"add {node.name!r} to its `after`")


def order(graph: Graph) -> tuple[str, ...]:
    """Names so that every parent stands before its children; GraphError shows the cycle when there is none."""
    pending = {node.name: len(node.after) for node in graph.nodes}
    done = [name for name, parents in pending.items() if not parents]
    for name in done:  # grows while it is read
        for child in graph.children[name]:
            pending[child] -= 1
            if not pending[child]:
                done.append(child)
    if len(done) < len(graph.nodes):
        _refuse_cycle(graph, frozenset(name for name, parents in pending.items() if parents))
    return tuple(done)


def _refuse_cycle(graph: Graph, left: frozenset[str]) -> None:
    # Whoever is left waits for somebody who is left: going from parent to parent must come back.
    at = next(node.name for node in graph.nodes if node.name in left)
    seen: dict[str, int] = {}
    while at not in seen:
        seen[at] = len(seen)
        at = next(parent for parent in graph.by_name[at].after if parent in left)
    cycle = [name for name, place in seen.items() if place >= seen[at]][::-1]
    places = {node.name: number for number, node in enumerate(graph.nodes)}
    first = cycle.index(min(cycle, key=places.__getitem__))
    cycle = [*cycle[first:], *cycle[:first]]
    names = [*cycle[:CYCLE_SHOWN], f"({len(cycle) - CYCLE_SHOWN} more)"] if len(cycle) > CYCLE_SHOWN else cycle
    raise GraphError(
        f"nodes[{places[cycle[0]]}].after",
        f"closes a cycle: {' → '.join([*names, cycle[0]])}",
        "leave out one of these edges",
        (*cycle, cycle[0]),
    )
