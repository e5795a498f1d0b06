"""A flow as it runs, read from the store: its nodes, the ways between them, and the graph that they are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from holdfast.kernel.errors import NotFoundError
from holdfast.kernel.graph.check import GraphError
from holdfast.kernel.graph.dag import Branch, Graph, Join, JoinKind, Node, OnFailure
from holdfast.kernel.job import Job
from holdfast.kernel.state import SUCCESSFUL
from holdfast.kernel.state import Canonical as S
from holdfast.store.port import FlowRow, NodeRow, Parent, Store, Way
from holdfast.systems.flow.commands.retry import flow_job, lineage
from holdfast.systems.flow.nodes import node_of, results_of

TOGETHER = (
    *(S.FAILED, S.EXPIRED, S.TIMED_OUT, S.DEAD_LETTERED, S.RUNNING, S.ASSIGNED, S.RETRY_PENDING, S.QUEUED, S.WAITING),
    *(S.CANCELLED, S.PARTIAL, S.SUCCEEDED, S.SKIPPED),
)
"""How the jobs of one node stand together: as the first of these does that one of them is in."""


class Run(NamedTuple):
    """A flow's job, its counts, its nodes, those of earlier flows that they come after, and the ways between them."""

    job: Job
    counts: FlowRow
    nodes: tuple[NodeRow, ...]
    kept: tuple[NodeRow, ...]
    ways: tuple[Way, ...]


class Drawn(NamedTuple):
    """A graph, and the canonical states of its nodes."""

    graph: Graph
    states: dict[str, str]


async def run_of(store: Store, flow_id: str) -> Run:
    """NotFoundError when there is no such flow."""
    job = await flow_job(store, flow_id)
    reads = store.graph
    counts = await store.graph.flow(job.id)
    nodes, kept = await store.graph.nodes(job.id), await reads.kept(job.id)
    known = {node.job_id for node in (*nodes, *kept)}
    ways = [way for way in await reads.ways(job.id) if way.parent in known]
    # As they were made: every parent before its children, and items where their node is.
    places: dict[str, str] = {}
    for node in nodes:
        places[node.name] = min(node.job_id, places.get(node.name, node.job_id))
    nodes.sort(key=lambda node: (places[node.name], -1 if node.item is None else node.item))
    return Run(job, counts, tuple(nodes), tuple(kept), tuple(ways))


async def results_at_ends(store: Store, flow_id: str) -> dict[str, Any]:
    """Of each node that nothing waits for, and that ran, its result. What a retry kept counts as its own."""
    flows = await lineage(store, flow_id)
    inner = {way.parent for each in flows for way in await store.graph.ways(each)}
    nodes = [node for each in flows for node in await store.graph.nodes(each)]
    ends = [node for node in nodes if node.job_id not in inner and node.state in SUCCESSFUL]
    jobs = {job.id: job for job in await store.reads.get_many([node.job_id for node in ends])}
    found = [Parent(n.name, n.item, n.state, jobs[n.job_id].outcome, n.job_id, False) for n in ends if n.job_id in jobs]
    return results_of(sorted(found, key=lambda parent: (parent.name, parent.item or 0)))


async def graph_of(store: Store, run: Run) -> Drawn:
    """The graph of a run: nodes that ran over a list are one, with all their items."""
    if not run.nodes:
        raise NotFoundError("node of flow", run.job.id, "they were removed: what is left is the record of the flow")
    jobs = await store.reads.get_many([node.job_id for node in run.nodes])
    declared = {job.id: node_job.node for job in jobs if (node_job := node_of(job.options)) is not None}
    return drawn(run, declared)


def drawn(run: Run, declared: Mapping[str, Node]) -> Drawn:
    """`declared` are the nodes that say more of themselves than the ways between them do, by job id."""
    names = {node.job_id: node.name for node in (*run.kept, *run.nodes)}
    after: dict[str, dict[str, None]] = defaultdict(dict)
    for way in run.ways:
        after[names[way.child]][names[way.parent]] = None
    alike: dict[str, list[NodeRow]] = defaultdict(list)
    for row in (*run.kept, *run.nodes):
        alike[row.name].append(row)
    on_failure = OnFailure(run.counts.on_failure)
    bare = [_bare(name, rows[0], tuple(after[name])) for name, rows in alike.items()]
    states = {name: together(row.state for row in rows) for name, rows in alike.items()}
    by_name = {names[job_id]: node for job_id, node in declared.items()}
    try:
        detailed = [_detailed(node, by_name.get(node.name), after) for node in bare]
        return Drawn(Graph(run.job.task, tuple(detailed), on_failure), states)
    except GraphError:  # one that it refers to has been removed
        return Drawn(Graph(run.job.task, tuple(bare), on_failure), states)


def _bare(name: str, row: NodeRow, after: tuple[str, ...]) -> Node:
    kind = JoinKind(row.join_kind)
    join = Join(kind, min(row.need, len(after))) if kind is not JoinKind.N or after else Join()
    return Node(name, row.task, after=after, join=join)


def _detailed(node: Node, declared: Node | None, after: Mapping[str, Iterable[str]]) -> Node:
    if declared is None:
        return node
    children = {name for name, parents in after.items() if node.name in parents}
    mapped = declared.map if declared.map in node.after else None
    return replace(node, branch=_within(declared.branch, children), map=mapped, when=declared.when)


def _within(branch: Branch | None, children: set[str]) -> Branch | None:
    """A branch without the children that ended well before a retry, and are no part of it."""
    if branch is None:
        return None
    cases = [replace(case, then=tuple(name for name in case.then if name in children)) for case in branch.cases]
    there = tuple(case for case in cases if case.then)
    default = tuple(name for name in branch.default if name in children)
    return replace(branch, cases=there, default=default) if there else None


def together(states: Iterable[str]) -> str:
    seen = set(states)
    return next(state.value for state in TOGETHER if state in seen)
