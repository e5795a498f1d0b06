"""A task that does what it is told, and a worker process that runs it: `python -m tests.systems.flow.toss URL`."""

from __future__ import annotations

import asyncio
import logging
import sys
from dataclasses import replace
from random import Random
from typing import Any

from holdfast import Context, Engine, PermanentError, Skip, TransientError
from holdfast.kernel.graph.dag import Graph
from holdfast.runtime.serving import serve_worker
from tests.kernel.graph.reference import Script

ENDS = ("succeeded", "skipped", "failed")


async def work(ctx: Context, end: str, result: Any, fails: int, takes_ms: int) -> Any:
    await asyncio.sleep(takes_ms / 1_000)
    if ctx.attempt <= fails:
        raise TransientError("not yet")
    if end == "skipped":
        raise Skip("nothing to do")
    if end == "failed":
        raise PermanentError("as it was told", code="broken")
    return result


def told(graph: Graph, scripts: dict[str, Script], random: Random) -> Graph:
    """The graph whose nodes know what to do: some of them only the second or third time."""
    nodes = []
    for node in graph.nodes:
        script = scripts[node.name]
        fails, takes_ms = random.choice((0, 0, 0, 0, 1, 2)), random.choice((0, 0, 1, 5, 40))
        args = {"end": script.end, "result": script.result, "fails": fails, "takes_ms": takes_ms}
        nodes.append(replace(node, args=args))
    return replace(graph, nodes=tuple(nodes))


def app_on(url: str) -> Engine:
    app = Engine(url)
    app.task(lifecycle="workflow", lease="1s", retries=9, backoff="10ms")(work)
    return app


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    sys.exit(serve_worker(app_on(sys.argv[1])._inside, concurrency=20, grace_s=5.0))
