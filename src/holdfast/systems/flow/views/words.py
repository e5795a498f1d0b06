"""Why a flow, or a node of one, is where it is: the words of `explain` for them, and the command that helps."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.kernel.event import Event
from holdfast.kernel.graph.readiness import FLOW_FAILED
from holdfast.kernel.job import Job
from holdfast.kernel.state import SUCCESSFUL, Canonical
from holdfast.store.port import FlowRow, Graph, NodeRow, Parent, Store
from holdfast.systems.flow.views.node_words import EXPLAINED, NAMED, Before, Beside, because, listed, title, went_wrong
from holdfast.views.of_systems import NO_WORDS, Words
from holdfast.views.phrases import count, error_of, span

READY = (Canonical.QUEUED, Canonical.RETRY_PENDING)


async def node_words(store: Store, job: Job, last: Event | None) -> Words:
    """NO_WORDS for a job that is no node; no sentence where no other node is behind it."""
    found = await store.graph.node(job.id)
    if found is None:
        return NO_WORDS
    flow_id, reads = found[0], store.graph
    before: list[Before] = []
    if job.state in EXPLAINED:
        before = [await _before(reads, parent) for parent in await reads.parents(job.id)]
    reason = last.reason if last is not None else None
    failed: list[str] = []
    if reason == FLOW_FAILED and job.state == Canonical.CANCELLED:
        failed = [_title(row) for row in await reads.nodes(flow_id) if went_wrong(row)]
    beside = Beside(tuple(before), await reads.join(job.id), reason, job.started_at_ms is not None, tuple(failed))
    flow = await store.reads.get(flow_id)
    # A node does not come back by itself: what helps is done to its flow.
    helps = "show"
    if flow is not None and flow.state == Canonical.FAILED and job.state not in SUCCESSFUL:
        helps = "retry"
    elif flow is not None and flow.state == job.state == Canonical.CANCELLED:
        helps = "resume"
    return Words(because(job.state, beside), f"holdfast flow {helps} {flow_id}")


async def _before(reads: Graph, parent: Parent) -> Before:
    chose = [name for name, cut in await reads.children(parent.job_id) if not cut] if parent.not_taken else []
    return Before(parent.name, parent.item, parent.state, bool(parent.not_taken), tuple(chose))


async def flow_words(store: Store, job: Job) -> Words:
    """NO_WORDS when its counts were removed; no sentence for one that was cancelled and not retried."""
    counts = (await store.graph.counts([job.id])).get(job.id)
    if counts is None:
        return NO_WORDS
    nodes = [] if job.state in SUCCESSFUL else await store.graph.nodes(job.id)
    failures = await _failures(store, counts, nodes)
    again = None if job.state == Canonical.WAITING else await store.graph.retried_as(job)
    if again is not None:
        how = failures if job.state == Canonical.FAILED else "it was cancelled"
        return Words(f"{how}; it goes on as flow {again.id}", f"holdfast job explain {again.id}")
    show = f"holdfast flow show {job.id}"
    match job.state:
        case Canonical.WAITING:
            running = [_title(row) for row in nodes if row.state == Canonical.RUNNING]
            ready = [row for row in nodes if row.state in READY]
            parts = [f"{counts.nodes - counts.open} of {count(counts.nodes, 'node')} ended"]
            parts += [f"{listed(running)} {'runs' if len(running) == 1 else 'run'}"] if running else []
            parts += [f"{listed(map(_title, ready))} {'is' if len(ready) == 1 else 'are'} ready"] if ready else []
            sentence = "; ".join([", ".join(parts), *([failures] if counts.failed else [])])
            if running or not ready:
                return Words(sentence, show)
            return Words(sentence, f"holdfast job explain {min(ready, key=lambda row: row.due_at_ms).job_id}")
        case Canonical.SUCCEEDED:
            took = span((job.finished_at_ms or 0) - job.created_at_ms)
            return Words(f"all of {count(counts.nodes, 'node')} ended after {took}", show)
        case Canonical.FAILED:
            return Words(failures, f"holdfast flow retry {job.id}")
        case Canonical.CANCELLED:
            return Words(None, f"holdfast flow resume {job.id}")
        case _:
            return NO_WORDS


async def _failures(store: Store, counts: FlowRow, nodes: Sequence[NodeRow]) -> str:
    """How many nodes failed, and what went wrong in each; of many in those alone that are named."""
    bad = [row for row in nodes if went_wrong(row)]
    jobs = await store.reads.get_many([row.job_id for row in bad[:NAMED]]) if bad else []
    errors = {job.id: error_of(job.outcome) for job in jobs}
    failed = f"{counts.failed} of {count(counts.nodes, 'node')} failed"
    named = listed(f"{_title(row)} ({errors.get(row.job_id) or row.state})" for row in bad)
    return f"{failed}: {named}" if bad else failed


def _title(row: NodeRow) -> str:
    return title(row.name, row.item)
