"""The built-in lifecycles, one table a file."""

from __future__ import annotations

from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.lifecycles.crawl import CRAWL
from holdfast.kernel.lifecycles.durable import DURABLE
from holdfast.kernel.lifecycles.pipeline import PIPELINE
from holdfast.kernel.lifecycles.sandbox import SANDBOX
from holdfast.kernel.lifecycles.workflow import WORKFLOW

BUILT_IN: dict[str, Lifecycle] = {table.name: table for table in (CRAWL, DURABLE, PIPELINE, WORKFLOW, SANDBOX)}

__all__ = ["BUILT_IN", "CRAWL", "DURABLE", "PIPELINE", "SANDBOX", "WORKFLOW"]
