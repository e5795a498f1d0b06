"""Stores a flow: its own job, and one for each of its nodes, in one transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from holdfast.kernel.durable import DURABLE
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.graph.dag import Graph, Node
from holdfast.kernel.graph.document import write_node
from holdfast.kernel.graph.flow_lifecycle import FLOW
from holdfast.kernel.graph.inputs import arguments, scope
from holdfast.kernel.graph.urgency import Sla, urgency
from holdfast.kernel.graph.workflow_lifecycle import WORKFLOW
from holdfast.kernel.job import Spec
from holdfast.kernel.payload.encoding import encode
from holdfast.kernel.state import Canonical
from holdfast.kernel.strictly import DocumentError, shown
from holdfast.runtime.task import Options, spec_of
from holdfast.store.port import NewNode
from holdfast.systems.flow.handle import FlowHandle
from holdfast.systems.flow.nodes import needs_run, node_options
from holdfast.tasks.durations import duration_ms
from holdfast.tasks.registry import Registry, TaskDef, define
from holdfast.tasks.work import Nothing

if TYPE_CHECKING:
    from holdfast.runtime.inside import Inside
    from holdfast.store.port import Ask, Facts, Store

SHOWN = 20
"""Of very many declared tasks no more are listed."""
OF_NODES = ("delay", "start_after", "expires", "timeout", "retry_limit", "retry_delay", "retry_backoff")
"""Options of a submit that are about runs: they hold for each node that says nothing else, and not for the flow."""


async def submit(engine: Inside, graph: Graph, payload: str, options: Options) -> FlowHandle:
    """Store all jobs of a flow. `payload` is its input, checked, as JSON text. Only inside the engine's own loop."""
    answer = (await store_flow(engine, await engine.opened(), graph, payload, options)).one
    engine.woken()
    return FlowHandle(engine, answer.job_id, answer.created)


async def store_flow(
    engine: Inside, store: Store, graph: Graph, payload: str, options: Options, ask: Ask | None = None
) -> Facts:
    """The same in a given store, which need not be the engine's own; nobody is woken."""
    flow = flow_spec(engine, graph, payload, options)._replace(actor="client" if ask is None else ask.actor)
    nodes = new_nodes(engine, graph, flow, options, await store.now_ms())
    return await store.graph.submit(flow, nodes, graph.on_failure.value, ask)


def flow_spec(engine: Inside, graph: Graph, payload: str, options: Options) -> Spec:
    """The flow's own job: like one of a task of its name, but that nobody runs it."""
    if options.connection is not None:
        raise HoldfastError(
            "a flow cannot be stored inside a transaction of the caller's",
            field="connection",
            remedy="submit without connection=, once that transaction is committed",
        )
    standing = define(graph.name, Nothing(), FLOW, {})
    spec = spec_of(standing, payload, replace(options, **dict.fromkeys(OF_NODES)))
    return spec._replace(state=Canonical.WAITING.value)


def new_nodes(engine: Inside, graph: Graph, flow: Spec, options: Options, now_ms: int) -> list[NewNode]:
    """A job for each node, under the flow: those without parents are ready, the others wait."""
    given: Mapping[str, Any] = json.loads(flow.payload or "{}")
    specs: dict[str, Spec] = {}
    made: dict[str, NewNode] = {}
    for name in graph.order:
        node = graph.by_name[name]
        specs[name] = _spec(engine, graph, node, flow, options, given)
        parents = tuple(specs[parent].id for parent in node.after)
        made[name] = NewNode(
            specs[name], name, node.join, parents, deadlines=_deadlines(node, graph.depths[name], specs[name], now_ms)
        )
    return [made[node.name] for node in graph.nodes]


def _spec(engine: Inside, graph: Graph, node: Node, flow: Spec, options: Options, given: Mapping[str, Any]) -> Spec:
    own = node.options
    definition = _task(engine.registry, graph, node)
    chosen = Options(
        queue=own.queue or options.queue,
        priority=options.priority if own.priority is None else own.priority,
        retry_limit=_first(own.retry_limit, options.retry_limit),
        retry_delay=_first(own.retry_delay, options.retry_delay),
        retry_backoff=_first(own.retry_backoff, options.retry_backoff),
        timeout=_first(own.run_ttl_seconds, options.timeout),
        expires=_first(own.expire_in_seconds, options.expires),
        start_after=options.start_after if own.start_after_ms is None else _time(own.start_after_ms),
        keep_until=options.keep_until if own.keep_until_ms is None else _time(own.keep_until_ms),
        correlation_id=flow.correlation_id or flow.id,
        trace_id=flow.trace_id,
        parent_id=flow.id,
        tags=options.tags,
    )
    document = write_node(node) if needs_run(node) else None
    payload = encode(node.args if document else arguments(node, scope(given, {})), what=f"{node.name}.args")
    spec = spec_of(definition, payload, chosen)
    due = Sla.TO_COME if own.sla_soft_seconds or own.sla_hard_seconds else Sla.NONE
    rank = urgency(due, graph.depths[node.name], spec.priority)
    return spec._replace(
        state=(Canonical.WAITING if node.after else Canonical.QUEUED).value,
        options=node_options(spec.options, node, graph.name, rank, document),
        # A node waits as long as its parents take, unless it, or the flow's submitter, says for how long.
        expire_after_ms=None if chosen.expires is None else spec.expire_after_ms,
        delay_ms=0 if options.delay is None or node.after else duration_ms(options.delay, "delay"),
        actor=flow.actor,
    )


def _task(registry: Registry, graph: Graph, node: Node) -> TaskDef:
    """What a node runs, under the lifecycle of nodes; DocumentError for what is not declared, or cannot be a node."""
    task = registry.find(node.task)
    if task is None:
        known = sorted(each.name for each in registry)
        listed = ", ".join(known[:SHOWN]) + (", …" if len(known) > SHOWN else "")
        raise DocumentError(_at(graph, node), f"is {shown(node.task)}, which is no task", f"declared here: {listed}")
    if task.lifecycle is WORKFLOW:
        return task
    if task.lifecycle is not DURABLE or task.compensate is not None:
        kind = "is compensated" if task.lifecycle is DURABLE else f"follows {task.lifecycle.name}"
        problem = f"is {shown(node.task)}, which {kind}: a node cannot"
        raise DocumentError(_at(graph, node), problem, 'declare a task with lifecycle="workflow" for it')
    return task.under(WORKFLOW)


def _at(graph: Graph, node: Node) -> str:
    return f"nodes[{graph.nodes.index(node)}].task"


def _deadlines(node: Node, depth: int, spec: Spec, now_ms: int) -> tuple[tuple[int, int], ...]:
    passed = ((node.options.sla_soft_seconds, Sla.SOFT_PASSED), (node.options.sla_hard_seconds, Sla.HARD_PASSED))
    return tuple(
        (now_ms + round(seconds * 1_000), -urgency(sla, depth, spec.priority)) for seconds, sla in passed if seconds
    )


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _time(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1_000, UTC)
