"""Whoever writes nodes of a flow, and whoever stops it, never wait for each other in a circle."""

from __future__ import annotations

import asyncio

import pytest

from holdfast import Engine
from holdfast.audit.auditor import audit
from holdfast.commands import cancel as cancelling
from holdfast.kernel.graph.dag import Graph, Node
from holdfast.kernel.graph.workflow_lifecycle import WORKFLOW
from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Command
from holdfast.kernel.move import Change, Move
from holdfast.runtime.task import Options
from holdfast.store.open import open_store
from holdfast.store.port import Lease, Store
from holdfast.systems.flow.commands import submit as flow_submit

NODES = 60
ROUNDS = 8
BACK = (WORKFLOW.row("running", Command.HAND_BACK),)
AGAIN = (WORKFLOW.row("running", Command.RETRY),)


async def write(store: Store, held: list[Job]) -> None:
    """What a worker that stops writes: some are tried again, some handed back, and neither by their ids' order."""
    later, earlier = held[NODES // 2 :], held[: NODES // 2]
    await store.jobs.apply(
        [
            Change(WORKFLOW, AGAIN, "w", [Move(job.id, job.attempt) for job in later], "w"),
            Change(WORKFLOW, BACK, "w", [Move(job.id, job.attempt) for job in earlier], "w"),
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize("beside", ["write", "renew"])
def test_a_cancel_beside_other_writes(database: str, beside: str) -> None:
    app = Engine(database)

    @app.task(lifecycle="workflow")
    def work() -> None: ...

    async def play() -> None:
        store, other = await app._inside.opened(), open_store(database)
        graph = Graph("many", tuple(Node(f"n{number}", "work") for number in range(NODES)))
        try:
            for number in range(ROUNDS):
                queue = f"q{number}"
                flow_id = (await flow_submit.submit(app._inside, graph, "{}", Options(queue=queue))).id
                held = sorted(await store.jobs.claim([queue], NODES, "w"))
                backwards = [Lease(job.id, job.attempt) for job in reversed(held)]
                busy = write(other, held) if beside == "write" else other.jobs.renew("w", backwards)
                await asyncio.gather(busy, cancelling.cancel(store, flow_id, "enough"))
        finally:
            await other.close()

    try:
        app._inside.portal.call(play())
        assert app._inside.portal.call(audit(database, processes=False)).violations == []
    finally:
        app.close()
