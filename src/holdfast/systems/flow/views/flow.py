"""A flow as the outside sees it: its job's own shape, its counts, its nodes with their times and ways, its graph."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from holdfast.kernel.graph.dag import Join, JoinKind
from holdfast.kernel.graph.flow_lifecycle import FLOW
from holdfast.kernel.graph.lineage import earlier
from holdfast.kernel.graph.mermaid import mermaid
from holdfast.kernel.graph.readiness import Edge, edge_of
from holdfast.kernel.graph.workflow_lifecycle import WORKFLOW
from holdfast.kernel.job import Job
from holdfast.kernel.state import OVER, RANK, Canonical
from holdfast.store.port import FlowRow, NodeRow, Store, Way
from holdfast.systems.flow.views.node_words import EXPLAINED, Before, Beside, title, went_wrong, why
from holdfast.systems.flow.views.run import Run, graph_of, run_of
from holdfast.views.job import iso, job_view, label
from holdfast.views.phrases import error_of

View = dict[str, Any]
MOST_NODES = 10_000
"""Of a larger flow no more nodes are shown; the counts are those of all."""
MOST_DRAWN = 500
"""A picture of more nodes shows nothing."""
MOST_ERRORS = 200
"""So many nodes that went wrong say what it was."""


async def flow_views(store: Store, jobs: Sequence[Job]) -> list[View]:
    """Flows of a list, each with its counts."""
    counts = await store.graph.counts([job.id for job in jobs])
    return [summary(job, counts.get(job.id)) for job in jobs]


def summary(job: Job, counts: FlowRow | None) -> View:
    """A flow without its nodes; without its counts where these were removed."""
    nodes = None if counts is None else dict(zip(COUNTED, counts[2:], strict=True))
    about = {"on_failure": None if counts is None else counts.on_failure, "counts": nodes, "retry_of": earlier(job)}
    return job_view(job, FLOW) | about | {"links": links(job)}


COUNTED = ("nodes", "open", "failed", "cancelled")


def links(job: Job) -> dict[str, str]:
    own = f"/api/flows/{job.id}"
    parts = {part: f"/api/jobs/{job.id}/{part}" for part in ("events", "explain", "graph", "result")}
    done = {
        Canonical.WAITING: ("cancel",),
        Canonical.FAILED: ("retry",),
        Canonical.CANCELLED: ("resume", "retry"),
    }.get(Canonical(job.state), ())
    return {"self": own, "job": f"/api/jobs/{job.id}", **parts, **{each: f"{own}/{each}" for each in done}}


async def flow_view(store: Store, run: Run) -> View:
    """A flow with its nodes, in the order in which they were made, and the ways between them, by job id."""
    reads = store.graph
    facts = NodeFacts(await reads.queued(run.job.id), await reads.reasons(run.job.id), await _errors(store, run.nodes))
    again = await reads.retried_as(run.job)
    views = [*(node_view(row, facts, kept=True) for row in run.kept), *_own(run, facts)]
    states = {view["job_id"]: view["canonical_state"] for view in views[:MOST_NODES]}
    ways = _among(run, states)
    edges = [{"from": way.parent, "to": way.child, "taken": _taken(way, states[way.parent])} for way in ways]
    return summary(run.job, run.counts) | {
        "nodes": views[:MOST_NODES],
        "edges": edges,
        "truncated": len(views) > MOST_NODES,
        "retried_as": None if again is None else again.id,
    }


class NodeFacts(NamedTuple):
    """What the log says of nodes, by job id: since when they could run, why they did not, what went wrong."""

    queued: Mapping[str, int]
    reasons: Mapping[str, str | None]
    errors: Mapping[str, str]


def node_view(row: NodeRow, facts: NodeFacts, reason: str | None = None, *, kept: bool = False) -> View:
    return {
        "name": row.name,
        "item": row.item,
        "job_id": row.job_id,
        "task": row.task,
        "state": label(WORKFLOW, row.state),
        "canonical_state": row.state,
        "attempt": row.attempt,
        "queued_at": iso(facts.queued.get(row.job_id)),
        "started_at": iso(row.started_at_ms),
        "ended_at": iso(row.finished_at_ms),
        "why": facts.errors.get(row.job_id) or reason,
        "kept": kept,
    }


def _own(run: Run, facts: NodeFacts) -> list[View]:
    """The flow's own nodes, each with the words for where it stands."""
    rows = {row.job_id: row for row in (*run.nodes, *run.kept)}
    into: dict[str, list[Way]] = defaultdict(list)
    chosen: dict[str, list[str]] = defaultdict(list)
    for way in run.ways:
        into[way.child].append(way)
        if not way.not_taken:
            chosen[way.parent].append(rows[way.child].name)
    failed = tuple(title(row.name, row.item) for row in run.nodes if went_wrong(row))

    def before(way: Way) -> Before:
        parent = rows[way.parent]
        chose = tuple(chosen[way.parent]) if way.not_taken else ()
        return Before(parent.name, parent.item, parent.state, way.not_taken, chose)

    def words(row: NodeRow) -> str | None:
        if row.state not in EXPLAINED:
            return None
        ways = tuple(before(way) for way in into[row.job_id])
        join = Join(JoinKind(row.join_kind), row.need)
        has_run = row.started_at_ms is not None
        return why(row.state, Beside(ways, join, facts.reasons.get(row.job_id), has_run, failed))

    return [node_view(row, facts, words(row)) for row in run.nodes]


def _taken(way: Way, state: str) -> bool | None:
    """Whether a way was gone, by where its beginning stands; None while that is open."""
    return None if RANK[state] < OVER else edge_of(state, chosen=not way.not_taken) is Edge.TAKEN


async def _errors(store: Store, nodes: Sequence[NodeRow]) -> dict[str, str]:
    bad = [row.job_id for row in nodes if went_wrong(row)][:MOST_ERRORS]
    jobs = await store.reads.get_many(bad) if bad else []
    return {job.id: words for job in jobs if (words := error_of(job.outcome))}


def _among(run: Run, job_ids: Iterable[str]) -> list[Way]:
    """The ways between these nodes, in the order in which they stand."""
    places = {job_id: place for place, job_id in enumerate(job_ids)}
    ways = [way for way in run.ways if way.parent in places and way.child in places]
    return sorted(ways, key=lambda way: (places[way.parent], places[way.child]))


async def flow_graph_view(store: Store, job: Job) -> dict[str, Any] | None:
    """The graph of the flow that a job is, or is a node of; None for any other job, and when nothing is left of it."""
    flow_id = await _flow_of(store, job)
    if flow_id is None:
        return None
    run = await run_of(store, flow_id)
    rows = [*run.kept, *run.nodes]
    if not run.nodes:
        return None
    nodes = [
        {
            "id": row.job_id,
            "name": row.name,
            "item": row.item,
            "task": row.task,
            "lifecycle": WORKFLOW.name,
            "state": label(WORKFLOW, row.state),
            "canonical_state": row.state,
        }
        for row in rows[:MOST_NODES]
    ]
    ways = _among(run, [row.job_id for row in rows[:MOST_NODES]])
    edges = [{"from": way.parent, "to": way.child, "kind": "not_taken" if way.not_taken else "after"} for way in ways]
    is_small = len({row.name for row in rows}) <= MOST_DRAWN
    return {
        "id": flow_id,
        "nodes": nodes,
        "edges": edges,
        "truncated": len(rows) > MOST_NODES,
        "mermaid": mermaid(*await graph_of(store, run)) if is_small else None,
    }


async def _flow_of(store: Store, job: Job) -> str | None:
    if job.lifecycle == FLOW.name:
        return job.id
    node = await store.graph.node(job.id) if job.lifecycle == WORKFLOW.name else None
    return None if node is None or await store.reads.get(node[0]) is None else node[0]
