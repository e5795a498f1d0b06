"""Why a flow, or a node of one, is where it is: the words of `explain` for them, and the command that helps."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.kernel.job import Job
from holdfast.kernel.state import SUCCESSFUL, Canonical
from holdfast.store.port import FlowRow
from holdfast.systems.flow.views.node_words import Beside, because, listed
from holdfast.views.phrases import count, span


class NodeSeen(NamedTuple):
    """A node: what it stands beside, and the flow that it is part of."""

    beside: Beside
    flow_id: str
    flow_state: str


class FlowSeen(NamedTuple):
    """A flow's counts, and a few of its nodes by how they stand."""

    counts: FlowRow
    running: tuple[str, ...] = ()
    ready: tuple[str, ...] = ()
    bad: tuple[str, ...] = ()
    """Those that went wrong, each with its error."""
    next_id: str | None = None
    """The job of a node that is ready."""
    retried_as: str | None = None


def words_of_node(job: Job, node: NodeSeen) -> str | None:
    """None where a node is explained as any job is: where no other node is behind it."""
    return because(job.state, node.beside)


def node_helps(job: Job, node: NodeSeen) -> str:
    """A node does not come back by itself: what helps is done to its flow."""
    if node.flow_state == Canonical.FAILED and job.state not in SUCCESSFUL:
        return f"holdfast flow retry {node.flow_id}"
    if node.flow_state == Canonical.CANCELLED and job.state == Canonical.CANCELLED:
        return f"holdfast flow resume {node.flow_id}"
    return f"holdfast flow show {node.flow_id}"


def flow_words(job: Job, flow: FlowSeen) -> tuple[str, str] | None:
    """The sentence, and the command that helps; None for one that was cancelled and not retried."""
    nodes = flow.counts
    show = f"holdfast flow show {job.id}"
    if flow.retried_as is not None:
        how = _failures(flow) if job.state == Canonical.FAILED else "it was cancelled"
        return f"{how}; it goes on as flow {flow.retried_as}", f"holdfast job explain {flow.retried_as}"
    match job.state:
        case Canonical.WAITING:
            counts = [f"{nodes.nodes - nodes.open} of {count(nodes.nodes, 'node')} ended", *_under_way(flow)]
            wrong = [_failures(flow)] if nodes.failed else []
            stuck = flow.next_id is not None and not flow.running
            return "; ".join([", ".join(counts), *wrong]), f"holdfast job explain {flow.next_id}" if stuck else show
        case Canonical.SUCCEEDED:
            took = span((job.finished_at_ms or 0) - job.created_at_ms)
            return f"all of {count(nodes.nodes, 'node')} ended after {took}", show
        case Canonical.FAILED:
            return _failures(flow), f"holdfast flow retry {job.id}"
        case _:
            return None


def _under_way(flow: FlowSeen) -> list[str]:
    running = [f"{listed(flow.running)} {'runs' if len(flow.running) == 1 else 'run'}"] if flow.running else []
    ready = [f"{listed(flow.ready)} {'is' if len(flow.ready) == 1 else 'are'} ready"] if flow.ready else []
    return running + ready


def _failures(flow: FlowSeen) -> str:
    failed = f"{flow.counts.failed} of {count(flow.counts.nodes, 'node')} failed"
    return f"{failed}: {listed(flow.bad)}" if flow.bad else failed
