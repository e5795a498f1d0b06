"""Systems by name: what can be declared on top of jobs, and the lifecycles that it brings."""

from __future__ import annotations

from importlib import import_module

from holdfast.kernel.durable import DURABLE
from holdfast.kernel.graph.flow_lifecycle import FLOW
from holdfast.kernel.graph.workflow_lifecycle import WORKFLOW
from holdfast.kernel.lifecycle import Lifecycle


def _table(module: str, name: str) -> Lifecycle:
    table: Lifecycle = getattr(import_module(f"holdfast.systems.{module}.lifecycle"), name)
    return table


CRAWL = _table("crawl", "CRAWL")
PIPELINE = _table("pipeline", "PIPELINE")
SANDBOX = _table("sandbox", "SANDBOX")

BUILT_IN: dict[str, Lifecycle] = {table.name: table for table in (CRAWL, DURABLE, PIPELINE, WORKFLOW, SANDBOX)}
"""What jobs that a worker runs can follow."""

KNOWN: dict[str, Lifecycle] = BUILT_IN | {FLOW.name: FLOW}
"""What every store knows: these, and what a flow as a whole follows."""
