"""Large flows take as long as they are large: submitted, run and ended in time linear in their nodes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from bench.flow_shapes import TASK, chain, wide
from holdfast import Engine
from holdfast.audit.auditor import audit
from holdfast.kernel.graph.dag import Graph
from holdfast.runtime.task import Options
from holdfast.systems.flow.commands import submit as flow_submit

SLOWER = 2.5
"""How much longer a node of the large one may take: on a machine with other work, and far from what a square would."""


def us_a_node(app: Engine, graph: Graph) -> float:
    """Submit and run one flow, and see that all of it was done."""
    began_s = time.perf_counter()
    handle = app._inside.portal.call(flow_submit.submit(app._inside, graph, "{}", Options()))
    with app.worker(concurrency=100):
        handle.result(120)
        took_s = time.perf_counter() - began_s
    assert handle.state() == "COMPLETED"
    assert json.loads(app.get_job(handle.id).outcome or "") == {"result": {"nodes": len(graph.nodes)}}
    return took_s / len(graph.nodes) * 1e6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "few", "many"),
    [
        pytest.param(wide, 1_000, 10_000, id="wide"),
        pytest.param(chain, 250, 1_000, id="chain"),
    ],
)
def test_a_node_takes_as_long_in_a_large_flow(
    database: str, shape: Callable[[int], Graph], few: int, many: int
) -> None:
    app = Engine(database)

    async def noop() -> None: ...

    app.task(name=TASK, lifecycle="workflow")(noop)
    try:
        small_us = max(us_a_node(app, shape(few)) for _ in range(2))
        large_us = us_a_node(app, shape(many))
        print(f"\n{shape.__name__}: {small_us:.0f} µs a node of {few}, {large_us:.0f} µs a node of {many}")
        assert large_us < SLOWER * small_us
        assert app._inside.portal.call(audit(database, processes=False)).violations == []
    finally:
        app.close()
