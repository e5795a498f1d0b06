"""The task that a node runs: one that is declared here, as a job that follows the lifecycle of nodes."""

from __future__ import annotations

from holdfast.kernel.durable import DURABLE
from holdfast.kernel.graph.dag import Graph, Node
from holdfast.kernel.graph.workflow_lifecycle import WORKFLOW
from holdfast.kernel.strictly import DocumentError, shown
from holdfast.tasks.registry import Registry, TaskDef

SHOWN = 20
"""Of very many declared tasks no more are listed."""


def node_task(registry: Registry, graph: Graph, node: Node) -> TaskDef:
    """DocumentError for a task that is not declared, or whose jobs cannot be nodes."""
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
