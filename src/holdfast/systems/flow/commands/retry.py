"""A flow that did not end well goes on as a new one: what ended well is kept, everything else is made anew.

The old flow stays as it is. The new one names it as its parent, under the key `retry:<old id>`: there is one at most.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.commands.anew import again
from holdfast.kernel.decisions import NotNowError
from holdfast.kernel.errors import HoldfastError, NotFoundError
from holdfast.kernel.graph.dag import Join, JoinKind
from holdfast.kernel.graph.flow_lifecycle import FLOW
from holdfast.kernel.graph.lineage import earlier, retry_key
from holdfast.kernel.graph.readiness import Edge, Verdict, edge_of
from holdfast.kernel.graph.urgency import Sla, urgency
from holdfast.kernel.graph.workflow_lifecycle import WORKFLOW
from holdfast.kernel.job import Job, Spec
from holdfast.kernel.state import SUCCESSFUL, Canonical
from holdfast.store.port import Ask, Facts, NewNode, NodeRow, Plan, Stopped, Store, Submitted, Way

RETRIABLE = frozenset({Canonical.FAILED, Canonical.CANCELLED})


async def retry(store: Store, flow_id: str, reason: str = "retried", actor: str = "client") -> Submitted:
    """The flow that goes on where this one stopped. One that was retried before is answered with the flow of then.

    NotAllowedError for a flow that is under way, or that ended well.
    """
    return (await go_on(store, flow_id, reason, actor, None)).one


async def go_on(store: Store, flow_id: str, reason: str, actor: str, ask: Ask | None) -> Facts:
    now_ms = await store.now_ms()
    return await store.graph.go_on(flow_id, lambda stopped: _plan(stopped, now_ms, reason, actor), ask)


async def lineage(store: Store, flow_id: str) -> list[str]:
    """The flow, the one that it goes on with, the one that that goes on with…, as far as they still exist."""
    found: list[str] = []
    at: str | None = flow_id
    while at is not None and (flow := await store.reads.get(at)) is not None:
        found.append(flow.id)
        at = earlier(flow)
    return found


async def flow_job(store: Store, flow_id: str) -> Job:
    """The job of a flow; NotFoundError when there is none, or when it is of another kind."""
    job = await store.reads.get(flow_id.strip().lower())
    if job is None or job.lifecycle != FLOW.name:
        raise NotFoundError("flow", flow_id, "holdfast flow list")
    return job


def _plan(stopped: Stopped, now_ms: int, reason: str, actor: str) -> Plan:
    flow, row = stopped.job, stopped.row
    if flow.state not in RETRIABLE:
        is_open = flow.state == Canonical.WAITING
        remedy = "wait until it has ended, or cancel it" if is_open else "it needs no retry: submit it anew"
        raise NotNowError(flow, FLOW, "retry", remedy)
    missing = sum(node.state not in SUCCESSFUL for node in stopped.nodes.values()) - len(stopped.jobs)
    if len(stopped.nodes) < row.nodes or missing:
        raise _gone(flow.id)
    spec = again(flow, FLOW, now_ms, key=retry_key(flow.id), actor=actor, reason=reason)
    return Plan(spec, anew(spec, stopped.jobs, stopped.nodes, stopped.kept, stopped.ways, now_ms), row.on_failure)


def anew(
    flow: Spec,
    jobs: Mapping[str, Job],
    nodes: Mapping[str, NodeRow],
    kept: Mapping[str, NodeRow],
    ways: Sequence[Way],
    now_ms: int,
) -> list[NewNode]:
    """A node for each of these jobs, under the new flow. Those before it that ended well stay where they are."""
    specs = {job_id: _spec(flow, job, now_ms) for job_id, job in sorted(jobs.items())}
    mapped = {node.name for node in nodes.values() if node.item is not None}
    before: dict[str, list[Way]] = defaultdict(list)
    for way in ways:
        parent = nodes.get(way.parent) or kept[way.parent]
        # Of a node that ran over a list, the items stand in for it.
        if parent.item is not None or parent.name not in mapped or way.parent in specs:
            before[way.child].append(way)
    made = []
    for job_id, spec in specs.items():
        node = nodes[job_id]
        if len(before[job_id]) != node.parents:
            raise _gone(flow.parent_id or "")
        over = [way for way in before[job_id] if way.parent not in specs]
        edges = [edge_of((nodes.get(way.parent) or kept[way.parent]).state, chosen=not way.not_taken) for way in over]
        new = NewNode(
            spec=spec,
            name=node.name,
            join=Join(JoinKind(node.join_kind), node.need),
            parents=tuple(specs[way.parent].id if way.parent in specs else way.parent for way in before[job_id]),
            done=edges.count(Edge.TAKEN),
            skipped=edges.count(Edge.DEAD),
            deadlines=_deadlines(jobs[job_id], now_ms),
            item=node.item,
            not_taken=tuple(way.parent for way in over if way.not_taken),
        )
        state = Canonical.QUEUED if new.verdict is Verdict.RELEASE else Canonical.WAITING
        made.append(new._replace(spec=spec._replace(state=state.value)))
    return made


def _spec(flow: Spec, job: Job, now_ms: int) -> Spec:
    """The job that does what a node's was to do, as a part of the new flow."""
    spec = again(job, WORKFLOW, now_ms, key="", actor=flow.actor, reason=flow.reason or "")
    has_begun = job.attempt > 1 or job.started_at_ms is not None
    return spec._replace(
        key=None,
        duplicates=None,
        parent_id=flow.id,
        correlation_id=flow.correlation_id,
        trace_id=flow.trace_id,
        due_at_ms=None if has_begun or job.due_at_ms <= now_ms else job.due_at_ms,
    )


def _deadlines(job: Job, now_ms: int) -> tuple[tuple[int, int], ...]:
    """As if it were submitted now: each deadline lies as far ahead as it did then."""
    options: dict[str, Any] = json.loads(job.options or "{}")
    seconds = zip(options.get("node", {}).get("sla", ()), (Sla.SOFT_PASSED, Sla.HARD_PASSED), strict=False)
    rank = options.get("urgency", 0) - urgency(Sla.TO_COME, 0, 0)
    return tuple((now_ms + round(after * 1_000), -(rank + urgency(sla, 0, 0))) for after, sla in seconds if after)


def _gone(flow_id: str) -> HoldfastError:
    return HoldfastError(
        f"some of the nodes of flow {flow_id}, or of those before it, were removed with their results",
        remedy="submit it anew",
    )
