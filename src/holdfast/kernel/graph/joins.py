"""I14, a join fires exactly once: what a flow has counted is what its nodes came to, and nobody waits for nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from holdfast.kernel.graph.dag import Join, JoinKind
from holdfast.kernel.graph.readiness import Edge, Tally, Verdict, decide, edge_of, overall
from holdfast.kernel.proof.invariants import Violation
from holdfast.kernel.state import OVER, RANK, SUCCESSFUL, Canonical


class JoinNode(NamedTuple):
    """A node of a flow, what is counted of its parents, and where its job stands."""

    flow_id: str
    job_id: str
    name: str
    item: int | None
    join_kind: str
    need: int
    parents: int
    taken: int
    dead: int
    broken: int
    state: str


class JoinEdge(NamedTuple):
    """An edge, and where the parent's job stands."""

    child_id: str
    parent_id: str
    not_taken: bool
    state: str
    name: str
    item: int | None
    flow_id: str


class FlowStands(NamedTuple):
    """A flow's own counts, and the state of its job; None where that is gone."""

    id: str
    nodes: int
    open: int
    failed: int
    cancelled: int
    state: str | None


class Joins(NamedTuple):
    """Some flows, all their nodes, and all edges into these."""

    flows: list[FlowStands]
    nodes: list[JoinNode]
    edges: list[JoinEdge]


WAITED = frozenset({Canonical.CANCELLED, Canonical.EXPIRED, Canonical.SKIPPED})
"""Ends that a node may come to without having been released."""


def breaches(read: Joins) -> dict[str, list[Violation]]:
    """By flow id, every breach. A flow that has ended, and that retention removed in part, has no more to show."""
    nodes: dict[str, list[JoinNode]] = defaultdict(list)
    mapped = set()
    for node in read.nodes:
        nodes[node.flow_id].append(node)
        if node.item is not None:
            mapped.add((node.flow_id, node.name))
    into: dict[str, list[JoinEdge]] = defaultdict(list)
    for edge in read.edges:
        # A node that ran over a list is stood in for by its items.
        if edge.item is not None or (edge.flow_id, edge.name) not in mapped:
            into[edge.child_id].append(edge)
    found = {flow.id: list(_flow(flow, nodes[flow.id], into)) for flow in read.flows}
    return {flow_id: wrong for flow_id, wrong in found.items() if wrong}


def _flow(flow: FlowStands, nodes: Sequence[JoinNode], into: Mapping[str, Sequence[JoinEdge]]) -> Iterator[Violation]:
    if flow.nodes != len(nodes):
        if flow.open or len(nodes) > flow.nodes:
            yield _of_flow(flow, "nodes", flow.nodes, len(nodes))
        return
    yield from _counts(flow, nodes)
    for node in nodes:
        yield from _join(node, into.get(node.job_id, ()))


def _counts(flow: FlowStands, nodes: Sequence[JoinNode]) -> Iterator[Violation]:
    states = [node.state for node in nodes]
    seen: Mapping[str, int] = {
        "open": sum(RANK[state] < OVER for state in states),
        "failed": sum(RANK[state] >= OVER and state not in SUCCESSFUL | {Canonical.CANCELLED} for state in states),
        "cancelled": states.count(Canonical.CANCELLED),
    }
    for name, count in seen.items():
        if getattr(flow, name) != count:
            yield _of_flow(flow, name, getattr(flow, name), count)
    ended = overall(states)
    if flow.state is not None and flow.state != (ended or Canonical.WAITING):
        how = "one of its nodes has not ended" if ended is None else f"its nodes ended as {ended.value}"
        yield Violation("I14", flow.id, None, f"the flow is {flow.state}, and {how}")


def _of_flow(flow: FlowStands, what: str, counted: int, seen: int) -> Violation:
    return Violation("I14", flow.id, None, f"the flow counts {counted} as {what}, and {seen} of its nodes are")


def _join(node: JoinNode, edges: Sequence[JoinEdge]) -> Iterator[Violation]:
    tally = Tally(node.parents, node.taken, node.dead, node.broken)
    ends = [edge_of(edge.state, chosen=not edge.not_taken) for edge in edges if RANK[edge.state] >= OVER]
    seen = Tally(len(edges), ends.count(Edge.TAKEN), ends.count(Edge.DEAD), ends.count(Edge.BROKEN))
    # Edges go with the parents that retention removes, once nobody needs them.
    if seen.parents >= tally.parents and seen != tally:
        yield Violation(
            "I14", node.job_id, None, f"counts {_tally_words(tally)}, and its parents came to {_tally_words(seen)}"
        )
    verdict = decide(Join(JoinKind(node.join_kind), node.need), tally)
    if node.state == Canonical.WAITING:
        if verdict is not Verdict.WAIT:
            yield Violation("I14", node.job_id, None, f"waits although its parents decide: {verdict.value}")
    elif verdict is not Verdict.RELEASE and node.state not in WAITED:
        yield Violation("I14", node.job_id, None, f"{node.state} although its parents decide: {verdict.value}")


def _tally_words(tally: Tally) -> str:
    return f"{tally.taken} taken, {tally.dead} dead, {tally.broken} broken of {tally.parents}"
