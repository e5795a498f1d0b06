"""Flows: DAGs of tasks."""

from holdfast.catalog import Noun, System

SYSTEM = System(
    name="flow",
    around="holdfast.systems.flow.nodes:Nodes",
    lifecycles=("holdfast.kernel.graph.workflow_lifecycle:WORKFLOW", "holdfast.kernel.graph.flow_lifecycle:FLOW"),
    views="holdfast.systems.flow.views.jobs:VIEWS",
    fields="holdfast.systems.flow.fields:NodeFields",
    routes=("holdfast.systems.flow.routes.flows:router",),
    cli={
        "flow": Noun(
            "holdfast.systems.flow.cli.flow:app",
            "Flows, node by node: list, show, graph, run, watch, cancel, resume, retry.",
        )
    },
    demo="holdfast.systems.flow.demo:part",
)

__all__ = ["SYSTEM"]
