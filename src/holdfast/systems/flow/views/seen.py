"""Gathers what the words for a flow, and for a node of one, go by."""

from __future__ import annotations

from holdfast.kernel.event import Event
from holdfast.kernel.graph.readiness import FLOW_FAILED
from holdfast.kernel.job import Job
from holdfast.kernel.state import OVER, RANK, SUCCESSFUL, Canonical
from holdfast.store.port import Graph, NodeRow, Parent, Store
from holdfast.systems.flow.views.node_words import NAMED, Before, Beside, title
from holdfast.systems.flow.views.words import FlowSeen, NodeSeen
from holdfast.views.phrases import error_of

READY = (Canonical.QUEUED, Canonical.RETRY_PENDING)
EXPLAINED = (Canonical.WAITING, Canonical.SKIPPED, Canonical.CANCELLED)
"""The states that a node is in because of others."""


async def node_seen(store: Store, job: Job, last: Event | None) -> NodeSeen | None:
    """What a node stands beside; None for a job that is none."""
    found = await store.graph.node(job.id)
    if found is None:
        return None
    flow_id, reads = found[0], store.graph
    before: list[Before] = []
    if job.state in EXPLAINED:
        before = [await _before(reads, parent) for parent in await store.graph.parents(job.id)]
    reason = last.reason if last is not None else None
    failed: list[str] = []
    if reason == FLOW_FAILED and job.state == Canonical.CANCELLED:
        failed = [_title(row) for row in await store.graph.nodes(flow_id) if went_wrong(row)]
    beside = Beside(tuple(before), await reads.join(job.id), reason, job.started_at_ms is not None, tuple(failed))
    flow = await store.reads.get(flow_id)
    return NodeSeen(beside, flow_id, Canonical.WAITING if flow is None else flow.state)


async def _before(reads: Graph, parent: Parent) -> Before:
    chose = [name for name, cut in await reads.children(parent.job_id) if not cut] if parent.not_taken else []
    return Before(parent.name, parent.item, parent.state, bool(parent.not_taken), tuple(chose))


async def flow_seen(store: Store, job: Job) -> FlowSeen | None:
    """A flow and how its nodes stand; None when its counts were removed."""
    reads = store.graph
    counts = (await reads.counts([job.id])).get(job.id)
    if counts is None:
        return None
    nodes = [] if job.state in SUCCESSFUL else await store.graph.nodes(job.id)
    ready = [row for row in nodes if row.state in READY]
    bad = [row for row in nodes if went_wrong(row)]
    again = None if job.state == Canonical.WAITING else await reads.retried_as(job)
    return FlowSeen(
        counts,
        running=tuple(_title(row) for row in nodes if row.state == Canonical.RUNNING),
        ready=tuple(map(_title, ready)),
        bad=await _with_errors(store, bad),
        next_id=min(ready, key=lambda row: row.due_at_ms).job_id if ready else None,
        retried_as=None if again is None else again.id,
    )


async def _with_errors(store: Store, bad: list[NodeRow]) -> tuple[str, ...]:
    """What went wrong in each; of many in those alone that will be named."""
    jobs = await store.reads.get_many([row.job_id for row in bad[:NAMED]]) if bad else []
    errors = {job.id: error_of(job.outcome) for job in jobs}
    return tuple(f"{_title(row)} ({errors.get(row.job_id) or row.state})" for row in bad)


def went_wrong(row: NodeRow) -> bool:
    return RANK[row.state] >= OVER and row.state not in SUCCESSFUL and row.state != Canonical.CANCELLED


def _title(row: NodeRow) -> str:
    return title(row.name, row.item)
