"""I14: a join fires exactly once. What went wrong with the counting of a flow is found by the audit, and named."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import Any

import pytest
from uuid_utils import uuid7

from holdfast import Engine
from holdfast.audit.auditor import audit
from holdfast.commands import cancel as cancelling
from holdfast.kernel.graph.workflow_lifecycle import WORKFLOW
from holdfast.kernel.job import Job, Spec
from holdfast.kernel.lifecycle import Command
from holdfast.kernel.move import Change, Follow, Move
from holdfast.runtime.handle import JobHandle
from holdfast.systems.flow.declare.flow import Flow
from holdfast.systems.flow.handle import FlowHandle
from holdfast.testing import drain


@pytest.fixture
def flow(app: Engine) -> Flow:
    """first → each item → last, and other → last."""
    flow = app.flow("counted", on_failure="finish")

    @flow.task
    def first(n: int) -> list[int]:
        return list(range(n))

    @flow.task(map_over=first)
    def each(item: int) -> int:
        return item

    @flow.task
    def other() -> int:
        return 1

    @flow.task(after=[each, other])
    def last(each: list[int], other: int) -> int:
        return sum(each) + other

    return flow


def breaches(app: Engine) -> list[tuple[str, str | None, str]]:
    report = app._inside.portal.call(audit(app.url, processes=False))
    return [(found.invariant, found.job_id, found.message) for found in report.violations]


def sql(app: Engine, text: str, *params: Any) -> None:
    """Around the store, as only somebody who means harm, or a bug, does."""
    if app.url.startswith("sqlite"):
        with contextlib.closing(sqlite3.connect(app.url.removeprefix("sqlite:///"))) as file, file:
            file.execute(text, params)
        return
    import psycopg

    with psycopg.connect(app.url, autocommit=True) as connection:
        connection.execute(text.replace("?", "%s"), params)


def node_id(handle: FlowHandle, name: str) -> str:
    return next(node.job_id for node in handle.nodes() if node.name == name and node.item is None)


def job(app: Engine, handle: FlowHandle, name: str) -> JobHandle[Any]:
    return JobHandle(app._inside, node_id(handle, name))


@pytest.mark.parametrize("items", [0, 1, 3])
def test_a_flow_over_a_list_counts_right_at_each_step(app: Engine, flow: Flow, items: int) -> None:
    handle = flow.submit(n=items)
    for name in ("first", "each", "other", "last"):
        assert breaches(app) == []
        drain(app, until=job(app, handle, name))
    drain(app)
    assert handle.result() == {"last": sum(range(items)) + 1}
    assert breaches(app) == []


WRONG = {
    "lost": ("UPDATE holdfast_node SET taken = taken - 1 WHERE job_id = ?", "last"),
    "doubled": ("UPDATE holdfast_node SET taken = taken + 1 WHERE job_id = ?", "last"),
    "more parents": ("UPDATE holdfast_node SET parents = parents + 1 WHERE job_id = ?", "last"),
    "an edge left out": ("UPDATE holdfast_edge SET cut = TRUE WHERE parent_id = ?", "other"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_count_that_is_not_what_the_parents_came_to_is_named(app: Engine, flow: Flow, wrong: str) -> None:
    handle = flow.submit(n=2)
    drain(app)
    statement, name = WRONG[wrong]
    sql(app, statement, node_id(handle, name))
    assert {(invariant, job_id) for invariant, job_id, _ in breaches(app)} == {("I14", node_id(handle, "last"))}


SUCCESS = (WORKFLOW.row("running", Command.SUCCEED),)


async def begin(app: Engine) -> list[Job]:
    """A worker's hands: `first` ends with a list, and what can run now is claimed."""
    store = await app._inside.opened()
    held = await store.jobs.claim(["default"], 10, "w")
    first = next(job for job in held if job.task == "counted.first")
    await store.jobs.apply([Change(WORKFLOW, SUCCESS, "w", [Move(first.id, 1, outcome='{"result":[0,1]}')], "w")])
    return [job for job in held if job is not first] + await store.jobs.claim(["default"], 10, "w")


def test_a_node_that_nobody_released_is_named(app: Engine, flow: Flow) -> None:
    handle = flow.submit(n=2)
    app._inside.portal.call(begin(app))
    last = node_id(handle, "last")
    sql(app, "UPDATE holdfast_node SET taken = parents WHERE job_id = ?", last)
    said = [message for invariant, job_id, message in breaches(app) if (invariant, job_id) == ("I14", last)]
    assert said[-1] == "waits although its parents decide: release"


def test_a_node_that_was_released_before_its_time_is_named(app: Engine, flow: Flow) -> None:
    handle = flow.submit(n=2)
    app._inside.portal.call(begin(app))
    each = node_id(handle, "each")
    sql(app, "UPDATE holdfast_node SET taken = 0 WHERE job_id = ?", each)
    said = [message for invariant, job_id, message in breaches(app) if (invariant, job_id) == ("I14", each)]
    assert said[-1] == "running although its parents decide: wait"


@pytest.mark.parametrize("count", ["nodes", "open", "failed", "cancelled"])
def test_a_flow_that_counts_wrong_is_named(app: Engine, flow: Flow, count: str) -> None:
    handle = flow.submit(n=1)
    drain(app)
    sql(app, f"UPDATE holdfast_flow SET {count} = {count} + 1 WHERE id = ?", handle.id)
    found = breaches(app)
    # Nodes that are not there may have been removed, when their flow has ended.
    assert [(invariant, job_id) for invariant, job_id, _ in found] == ([] if count == "nodes" else [("I14", handle.id)])


def test_a_node_that_was_asked_to_stop_does_not_spread(app: Engine, flow: Flow) -> None:
    handle = flow.submit(n=2)

    async def race() -> None:
        store = await app._inside.opened()
        other, each = await begin(app)
        await cancelling.cancel(store, handle.id, "no longer wanted")
        items = tuple(Spec(str(uuid7()), WORKFLOW.name, each.task, f'{{"item":{n}}}') for n in range(2))
        moves = [Move(other.id, 1, outcome='{"result":1}'), Move(each.id, 1, follow=Follow((), items))]
        applied = await store.jobs.apply([Change(WORKFLOW, SUCCESS, "w", moves, "w")])
        assert list(applied.versions) == [other.id]
        assert [(refused.job_id, refused.why) for refused in applied.refused] == [(each.id, "cancelled")]

    app._inside.portal.call(race())
    assert handle.state() == "CANCELLED"
    assert [node.state for node in handle.nodes() if node.name == "each"] == ["cancelled"], "no item was made"
    assert breaches(app) == []
    handle.resume()
    drain(app)
    assert handle.result() == {"last": 2}
    assert breaches(app) == []
