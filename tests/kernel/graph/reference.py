"""How a flow must end, said in the plainest way: go over all nodes again and again until nothing changes.

Shares nothing with the code it judges but the names of things: every join is spelt out from the parents' ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.kernel.graph.conditions import holds
from holdfast.kernel.graph.dag import Graph, Node, Predicate

GOOD = ("succeeded", "partial")
BAD = ("failed", "cancelled", "expired")


@dataclass(frozen=True)
class Script:
    """What a node does if it is run."""

    end: str = "succeeded"
    result: Any = None


def ends(graph: Graph, scripts: Mapping[str, Script]) -> dict[str, str]:
    """The canonical state of every node at the end of the flow, under `finish`. Nodes without a script succeed."""
    found: dict[str, str] = {}
    changed = True
    while changed:
        changed = False
        for node in graph.nodes:
            if node.name in found:
                continue
            end = _end(graph, node, found, scripts)
            if end is not None:
                found[node.name] = end
                changed = True
    return found


def _end(graph: Graph, node: Node, found: Mapping[str, str], scripts: Mapping[str, Script]) -> str | None:
    run = scripts.get(node.name, Script()).end
    if len(node.after) == 0:
        return run
    if node.map is not None and items(graph, node, found, scripts) == 0:
        run = "succeeded"
    good = [p for p in node.after if found.get(p) in GOOD and _chooses(graph, p, node.name, scripts)]
    bad = [p for p in node.after if found.get(p) in BAD]
    all_ended = all(p in found for p in node.after)
    kind = node.join.kind.value
    if kind == "any" and len(good) >= 1:
        return run
    if kind == "n" and len(good) >= node.join.n:
        return run
    if not all_ended:
        return None
    if len(bad) > 0:
        return "cancelled"
    if kind == "all_done":
        return run
    if kind == "all" and len(good) >= 1:
        return run
    return "skipped"


def items(graph: Graph, node: Node, found: Mapping[str, str], scripts: Mapping[str, Script]) -> int:
    """How many jobs a node that runs over a list becomes: each ends as its script says."""
    assert node.map is not None
    if found.get(node.map) not in GOOD or not _chooses(graph, node.map, node.name, scripts):
        return 0
    return len(scripts[node.map].result)


def _chooses(graph: Graph, parent: str, child: str, scripts: Mapping[str, Script]) -> bool:
    """Whether a parent that ended well goes on to this child."""
    branch = next(node for node in graph.nodes if node.name == parent).branch
    if branch is None:
        return True
    mentioned = child in branch.default or any(child in case.then for case in branch.cases)
    if not mentioned:
        return True
    result = scripts.get(parent, Script()).result
    true_cases = []
    for case in branch.cases:
        assert not isinstance(case.when, Predicate)
        if holds(case.when, result):
            true_cases.append(case)
    if not true_cases:
        return child in branch.default
    if branch.mode.value == "first":
        return child in true_cases[0].then
    if branch.mode.value == "all":
        return any(child in case.then for case in true_cases)
    highest = max(case.priority for case in true_cases)
    best = [case for case in true_cases if case.priority == highest]
    return child in best[0].then


def overall(found: Mapping[str, str]) -> str:
    """The end of the flow itself."""
    if any(end in ("failed", "expired") for end in found.values()):
        return "failed"
    if any(end == "cancelled" for end in found.values()):
        return "cancelled"
    return "succeeded"
