"""A flow as a graph for the outside: jobs and the ways between them, and the same drawn."""

from __future__ import annotations

from typing import Any

from holdfast.kernel.graph.flow_lifecycle import FLOW
from holdfast.kernel.graph.mermaid import mermaid
from holdfast.kernel.graph.workflow_lifecycle import WORKFLOW
from holdfast.kernel.job import Job
from holdfast.store.port import Store
from holdfast.systems.flow.views.flow import MOST_NODES
from holdfast.systems.flow.views.run import graph_of, run_of
from holdfast.views.job import label

MOST_DRAWN = 500
"""A picture of more nodes shows nothing."""


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
    places = {row.job_id: place for place, row in enumerate(rows[:MOST_NODES])}
    ways = [way for way in run.ways if way.parent in places and way.child in places]
    ways.sort(key=lambda way: (places[way.parent], places[way.child]))
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
