"""A node of a flow, where it runs: its arguments from its parents, whether it runs at all, which ways go on from it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from uuid_utils import uuid7

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.graph.conditions import holds, paths
from holdfast.kernel.graph.dag import INPUT, Each, Judged, Node, Predicate
from holdfast.kernel.graph.document import read_node
from holdfast.kernel.graph.inputs import arguments, item_scope, items, scope
from holdfast.kernel.graph.readiness import BRANCH_NOT_TAKEN, not_taken
from holdfast.kernel.job import Job, Spec
from holdfast.kernel.move import Follow
from holdfast.kernel.outcome import Done, Outcome, Partial, Skip
from holdfast.kernel.payload.encoding import encode
from holdfast.kernel.state import SUCCESSFUL, Canonical
from holdfast.store.port import Parent
from holdfast.tasks.around import Instead

if TYPE_CHECKING:
    from holdfast.store.port import Store
    from holdfast.tasks.registry import Registry


class NodeJob(NamedTuple):
    """What a job says of the node that it is."""

    flow: str
    node: Node


@lru_cache(maxsize=4096)
def node_of(options: str | None) -> NodeJob | None:
    """The node of a job that has something to work out before or after its handler; None for all others."""
    if options is None or '"node"' not in options:
        return None
    kept = json.loads(options).get("node")
    return None if kept is None or "document" not in kept else NodeJob(kept["flow"], read_node(kept["document"]))


def node_options(options: str | None, node: Node, flow: str, urgency: int, document: Mapping[str, Any] | None) -> str:
    """A job's options, with the node that it is; `document` where there is something to work out when it runs."""
    fields: dict[str, Any] = json.loads(options) if options else {}
    fields["urgency"] = urgency
    fields["node"] = {"flow": flow}
    if node.options.sla_soft_seconds or node.options.sla_hard_seconds:
        fields["node"]["sla"] = [node.options.sla_soft_seconds, node.options.sla_hard_seconds]
    if document is not None:
        fields["node"]["document"] = document
    return json.dumps(fields, separators=(",", ":"))


def needs_run(node: Node) -> bool:
    """Whether its arguments, its turn or its ways on are known only once its parents have ended."""
    starts = [path[0] for source in node.inputs.values() for path in _paths(source)]
    return bool(node.branch or node.map or node.when) or any(start != INPUT for start in starts)


class Nodes:
    """What goes on around the runs of nodes. Raises what a predicate raises."""

    def __init__(self, registry: Registry, store: Store) -> None:
        self._registry = registry
        self._store = store

    async def before(self, job: Job) -> Job | Instead:
        """The job with its arguments from its parents; its end when its condition does not hold, or it is a map."""
        node_job = node_of(job.options)
        if node_job is None:
            return job
        node = node_job.node
        parents, payload = await self._store.graph.inputs(job.id, job.parent_id if _looks_at_input(node) else None)
        results = results_of(parents)
        document = scope(json.loads(payload) if payload else {}, results)
        if node.when is not None and not self._judge(node_job, node.when, document):
            return Instead(Skip(BRANCH_NOT_TAKEN))
        if node.map is not None:
            return self._mapped(job, node, document, results)
        return job._replace(payload=encode(arguments(node, document), what="args"))

    async def after(self, job: Job, outcome: Outcome) -> Follow | None:
        """The children that its branch leaves out."""
        node_job = node_of(job.options)
        if node_job is None or node_job.node.branch is None or not isinstance(outcome, Done | Partial):
            return None
        result = None if outcome.result is None else json.loads(outcome.result)
        cut = not_taken(node_job.node.branch, result, lambda judged, about: self._judge(node_job, judged, about))
        return Follow(tuple(sorted(cut)))

    def _mapped(self, job: Job, node: Node, document: dict[str, Any], results: Mapping[str, Any]) -> Instead:
        """One job for each item takes the node's place."""
        found = items(node, results)
        specs = [
            _item(job, node, encode(arguments(node, item_scope(document, item, index)), what="args"))
            for index, item in enumerate(found)
        ]
        return Instead(Done(None if specs else "[]"), Follow((), tuple(specs)))

    def _judge(self, node_job: NodeJob, judged: Judged, document: Any) -> bool:
        if not isinstance(judged, Predicate):
            return holds(judged, document)
        from holdfast.systems.flow.declare.flow import Flow

        flow = self._registry.wholes(Flow).get(node_job.flow)
        if flow is None:
            raise HoldfastError(
                f"flow {node_job.flow!r} is not declared here, and {judged.name} is Python",
                remedy="run a worker that declares the flow",
            )
        return flow.judge(judged, document)


def results_of(parents: Sequence[Parent]) -> dict[str, Any]:
    """By name, what came out of those parents whose way was taken; of one that ran over a list, the list.

    An item that gave nothing, because it was skipped, is None in that list: each of the others keeps its place.
    """
    found: dict[str, Any] = {}
    mapped: dict[str, list[Any]] = {parent.name: [] for parent in parents if parent.item is not None}
    for parent in parents:
        taken = parent.state in SUCCESSFUL and parent.state != Canonical.SKIPPED and not parent.not_taken
        result = json.loads(parent.outcome).get("result") if taken and parent.outcome else None
        if parent.item is not None:
            mapped[parent.name].append(result)
        elif taken:
            found[parent.name] = result
    return found | mapped


def _item(job: Job, node: Node, payload: str) -> Spec:
    """The job of one item: like the node's own, with arguments of its own and nothing left to work out."""
    options: dict[str, Any] = json.loads(job.options or "{}")
    options["node"] = {name: value for name, value in options["node"].items() if name != "document"}
    return Spec(
        id=str(uuid7()),
        lifecycle=job.lifecycle,
        task=job.task,
        payload=payload,
        queue=job.queue,
        priority=job.priority,
        max_tries=job.max_tries,
        lease_ms=job.lease_ms,
        expire_after_ms=_time_left(job),
        keep_until_ms=job.keep_until_ms,
        correlation_id=job.correlation_id,
        trace_id=job.trace_id,
        parent_id=job.parent_id,
        tags=job.tags,
        options=json.dumps(options, separators=(",", ":")),
        actor="engine",
        cause=job.id,
    )


def _time_left(job: Job) -> int | None:
    """How long the jobs that take a node's place may take: what it had left itself when it began."""
    if job.expires_at_ms is None:
        return None
    return max(1, job.expires_at_ms - (job.started_at_ms or job.changed_at_ms))


def _paths(source: Any) -> tuple[Any, ...]:
    return source.paths if isinstance(source, Each) else (source,)


def _looks_at_input(node: Node) -> bool:
    """Whether it looks at the flow's own input."""
    if isinstance(node.when, Predicate):
        return True
    starts = {path[0] for source in node.inputs.values() for path in _paths(source)}
    if node.when is not None:
        starts |= {path[0] for path, _ in paths(node.when) if path}
    return INPUT in starts
