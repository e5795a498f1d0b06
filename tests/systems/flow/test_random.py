"""Random DAGs on the real stores end as the plain reference says, whatever order their nodes end in."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from holdfast import Engine
from holdfast.audit.auditor import audit
from holdfast.kernel.graph.dag import OnFailure
from holdfast.kernel.graph.joins import breaches
from holdfast.kernel.proof.invariants import Inspector
from holdfast.runtime.task import Options
from holdfast.store.open import open_store
from holdfast.store.port import NodeRow, Store
from holdfast.systems.flow.commands import submit as flow_submit
from tests.engines import STORES, address
from tests.kernel.graph import reference
from tests.kernel.graph.strategies import TROUBLE, graph_of, scripts_of
from tests.systems.flow.hands import Hands


@pytest.fixture(params=STORES)
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    engine = Engine(address(request, tmp_path))

    @engine.task(lifecycle="workflow", retries=9)
    def work() -> None: ...

    yield engine
    report = engine._inside.portal.call(audit(engine.url, processes=False))
    assert report.violations == []
    engine.close()


def ends_of(rows: list[NodeRow]) -> dict[str, str]:
    """By name, how nodes ended; those that ran over a list as all of their items did."""
    spread = {row.name for row in rows if row.item is not None}
    found: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        # A node that has made way for its items ended when it did.
        if row.item is not None or row.name not in spread:
            found[row.name].add(row.state)
    assert all(len(states) == 1 for states in found.values()), found
    return {name: states.pop() for name, states in found.items()}


async def check(store: Store, flow_id: str, rows: list[NodeRow]) -> None:
    """Every job by its table, every count as its parents' ends, and every join once an attempt."""
    inspector = Inspector(store.tables)
    for job in await store.reads.get_many([flow_id, *(row.job_id for row in rows)]):
        events = await store.reads.events(job.id)
        assert inspector.job(job, events) == []
        released = [event.attempt for event in events if event.type == "job_released"]
        assert len(released) == len(set(released)), "a join fires once"
    assert breaches(await store.reads.joins(flow_id, flow_id)) == {}


# Without shrinking: each step of it would be a whole flow. The line that a failure prints replays it.
@pytest.mark.slow
@pytest.mark.rule("W16")
@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
@given(
    seed=st.integers(0, 2**32),
    size=st.integers(1, 200),
    trouble=TROUBLE,
    on_failure=st.sampled_from(OnFailure),
    cancel_at=st.none() | st.sampled_from((1, 2, 4, 8, 16)),
)
def test_a_flow_ends_as_the_reference_says(
    app: Engine, seed: int, size: int, trouble: float, on_failure: OnFailure, cancel_at: int | None
) -> None:
    note(f"{seed=} {size=} {trouble=} {on_failure=} {cancel_at=}")
    random = Random(seed)
    graph = graph_of(random, size, on_failure, maps=True)
    scripts = scripts_of(random, graph, trouble)
    expected = {name: end.replace("partial", "succeeded") for name, end in reference.ends(graph, scripts).items()}

    async def play() -> None:
        store, other = await app._inside.opened(), open_store(app.url)
        # A queue of its own: what another example left behind is none of this one's business.
        queue = f"q{time.monotonic_ns()}"
        flow_id = (await flow_submit.submit(app._inside, graph, "{}", Options(queue=queue))).id
        hands = Hands((store, other), flow_id, queue, graph, scripts, random, cancel_at)
        try:
            rows = await hands.run()
        finally:
            await other.close()
        await check(store, flow_id, rows)
        flow = await store.reads.get(flow_id)
        assert flow is not None
        stopped_for_good = hands.stopping and flow.state != "succeeded"
        failed = any(end in ("failed", "expired") for end in expected.values())
        if stopped_for_good or (failed and graph.on_failure is OnFailure.FAIL_FAST):
            assert flow.state in ("failed", "cancelled")
        else:
            assert ends_of(rows) == expected
        if not stopped_for_good:
            assert flow.state == reference.overall(expected)

    app._inside.portal.call(play())
