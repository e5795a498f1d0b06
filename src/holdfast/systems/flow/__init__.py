"""Flows: DAGs of tasks."""

from __future__ import annotations

from holdfast.catalog import System

SYSTEM = System(
    name="flow",
    around="holdfast.systems.flow.nodes:Nodes",
    lifecycles=("holdfast.kernel.graph.workflow_lifecycle:WORKFLOW", "holdfast.kernel.graph.flow_lifecycle:FLOW"),
)

__all__ = ["SYSTEM"]
