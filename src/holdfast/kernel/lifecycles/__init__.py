"""The built-in lifecycles, one table a file."""

from __future__ import annotations

from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.lifecycles.crawl import CRAWL
from holdfast.kernel.lifecycles.durable import DURABLE
from holdfast.kernel.lifecycles.flow import FLOW
from holdfast.kernel.lifecycles.pipeline import PIPELINE
from holdfast.kernel.lifecycles.sandbox import SANDBOX
from holdfast.kernel.lifecycles.workflow import WORKFLOW

BUILT_IN: dict[str, Lifecycle] = {table.name: table for table in (CRAWL, DURABLE, PIPELINE, WORKFLOW, SANDBOX)}
"""What jobs that a worker runs can follow."""

KNOWN: dict[str, Lifecycle] = BUILT_IN | {FLOW.name: FLOW}
"""What every store knows: these, and what a flow as a whole follows."""

__all__ = ["BUILT_IN", "CRAWL", "DURABLE", "FLOW", "KNOWN", "PIPELINE", "SANDBOX", "WORKFLOW"]
