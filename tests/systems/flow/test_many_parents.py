"""64 parents that end at once, each in a transaction of its own, release their child once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from holdfast import Engine
from holdfast.audit.auditor import audit
from holdfast.commands import cancel as cancelling
from holdfast.kernel.graph.dag import Graph, Join, JoinKind, Node
from holdfast.kernel.graph.workflow_lifecycle import WORKFLOW
from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Command
from holdfast.kernel.move import Change, Move
from holdfast.runtime.task import Options
from holdfast.store.open import open_store
from holdfast.store.port import Store
from holdfast.store.postgres.driver import open_postgres
from holdfast.systems.flow.commands import submit as flow_submit

PARENTS = 64
SQLITE_WRITERS = 4
SUCCESS = (WORKFLOW.row("running", Command.SUCCEED),)
JOINS = (Join(JoinKind.ALL), Join(JoinKind.ANY), Join(JoinKind.N, PARENTS // 2), Join(JoinKind.ALL_DONE))


def star(join: Join) -> Graph:
    parents = tuple(Node(f"p{number}", "work") for number in range(PARENTS))
    return Graph("star", (*parents, Node("child", "work", after=tuple(node.name for node in parents), join=join)))


@asynccontextmanager
async def writers(url: str) -> AsyncIterator[list[Store]]:
    """A store for each parent: on PostgreSQL one with a connection for each; SQLite has one writer a process."""
    if url.startswith("sqlite"):
        stores: list[Store] = [open_store(url) for _ in range(SQLITE_WRITERS)]
        found = [stores[number % SQLITE_WRITERS] for number in range(PARENTS)]
    else:
        stores = [open_postgres(url, connections=PARENTS)]
        found = stores * PARENTS
    try:
        yield found
    finally:
        for store in stores:
            await store.close()


async def end(store: Store, job: Job) -> None:
    applied = await store.jobs.apply([Change(WORKFLOW, SUCCESS, "w", [Move(job.id, job.attempt)], "w")])
    assert not applied.refused


@pytest.mark.slow
@pytest.mark.parametrize("cancelled", [False, True], ids=["", "cancelled"])
def test_the_last_of_64_parents_releases_the_child_and_no_other_does(database: str, cancelled: bool) -> None:
    app = Engine(database)

    @app.task(lifecycle="workflow")
    def work() -> None: ...

    async def play() -> None:
        async with writers(database) as stores:
            store = await app._inside.opened()
            for number, join in enumerate(JOINS * 2):
                queue = f"q{number}"
                flow_id = (await flow_submit.submit(app._inside, star(join), "{}", Options(queue=queue))).id
                held = await store.jobs.claim([queue], PARENTS, "w")
                assert len(held) == PARENTS
                ending = [end(stores[place], job) for place, job in enumerate(held)]
                if cancelled:
                    ending.insert(PARENTS // 2, cancel(store, flow_id))
                await asyncio.gather(*ending)
                await child_of(store, flow_id, queue)

    async def cancel(store: Store, flow_id: str) -> None:
        await cancelling.cancel(store, flow_id, "at the same time")

    async def child_of(store: Store, flow_id: str, queue: str) -> None:
        child = next(node for node in await store.graph.nodes(flow_id) if node.name == "child")
        assert child.taken == PARENTS
        released = [e for e in await store.reads.events(child.job_id) if e.type == "job_released"]
        left = await store.jobs.claim([queue], PARENTS, "w")
        if cancelled:
            assert (len(released), left, child.state) in ((0, [], "cancelled"), (1, [], "cancelled"))
            return
        assert (len(released), [job.id for job in left]) == (1, [child.job_id])
        await end(store, left[0])
        flow = await store.reads.get(flow_id)
        assert flow is not None
        assert flow.state == "succeeded"

    try:
        app._inside.portal.call(play())
        assert app._inside.portal.call(audit(database, processes=False)).violations == []
    finally:
        app.close()
