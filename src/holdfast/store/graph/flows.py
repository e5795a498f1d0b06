"""Flows as a whole: submitted, looked at, cancelled and brought back in one transaction each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.kernel.errors import NotFoundError
from holdfast.kernel.graph.dag import Join
from holdfast.kernel.graph.readiness import Tally, Verdict, decide
from holdfast.kernel.graph.workflow_lifecycle import WORKFLOW
from holdfast.kernel.job import Spec
from holdfast.kernel.move import Change
from holdfast.kernel.state import Canonical
from holdfast.observe import transitions
from holdfast.store.dialect import FlowRow, NodeColumns, Waiting
from holdfast.store.graph.advancing import advance, end_flow, settle
from holdfast.store.graph.node_row import NodeRow
from holdfast.store.graph.resuming import resume
from holdfast.store.graph.stopping import cancel_rest
from holdfast.store.jobs.submitting import submit
from holdfast.store.port import Submitted
from holdfast.store.script import Many, Query, Script

if TYPE_CHECKING:
    from holdfast.store.sql_store import SqlStore

__all__ = ["Graphs", "NewNode", "NodeRow", "Parent", "Plan"]


class NewNode(NamedTuple):
    """A node to create: its job, its name, what it waits for. Parents are job ids, of this flow or an earlier one.

    `done` counts those of the parents that have ended well before, in another flow: they are waited for no more. Nor
    are those that `skipped` counts: they were skipped, or, in `cut`, left this one out.
    """

    spec: Spec
    name: str
    join: Join
    parents: tuple[str, ...] = ()
    done: int = 0
    skipped: int = 0
    deadlines: tuple[tuple[int, int], ...] = ()
    """(at_ms, turn): when it moves up, and to which turn."""
    item: int | None = None
    cut: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """What becomes of it as it is created."""
        return decide(self.join, Tally(len(self.parents), self.done, self.skipped))


class Plan(NamedTuple):
    """A flow to create, with all its nodes."""

    flow: Spec
    nodes: Sequence[NewNode]
    on_failure: str


class Parent(NamedTuple):
    """One of those that a node waits for, and what came out of it."""

    name: str
    item: int | None
    state: str
    outcome: str | None
    job_id: str
    cut: bool


class Graphs:
    """Flows in one store."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store

    async def submit(self, flow: Spec, nodes: Sequence[NewNode], on_failure: str) -> Submitted:
        """Create a flow with all its nodes, or nothing when its key is held by another: that one is the answer."""

        def known() -> Script[Plan | Submitted]:
            yield from ()
            return Plan(flow, nodes, on_failure)

        return await self.create(known())

    async def create(self, planning: Script[Plan | Submitted]) -> Submitted:
        """Create the flow that a script plans, in the transaction in which it does; or nothing, if that is its plan."""
        store = self._store
        made: list[Spec] = []
        followed: list[Change] = []
        answer = await store.driver.write(self._create(planning, made, followed))
        transitions.submitted((spec, store.tables[spec.lifecycle].submit_event) for spec in made)
        _log(followed)
        return answer

    def _create(
        self, planning: Script[Plan | Submitted], made: list[Spec], followed: list[Change]
    ) -> Script[Submitted]:
        plan = yield from planning
        if isinstance(plan, Submitted):
            return plan
        dialect, door = self._store.dialect, self._store.door
        flow, nodes, on_failure = plan
        [answer] = yield from submit(dialect, door, [flow], followed)
        if not answer.created:
            return answer
        made += [flow, *(node.spec for node in nodes)]
        yield Query("add_flow", {"id": flow.id, "on_failure": on_failure, "nodes": len(nodes)})
        if nodes:
            yield from dialect.create([door.admit(node.spec) for node in nodes])
            edges = [(parent, node.spec.id) for node in nodes for parent in node.parents]
            yield from dialect.add_nodes([_node(node, flow.id) for node in nodes], edges)
        if cuts := [(parent, node.name) for node in nodes for parent in node.cut]:
            yield Many("cut_edge", cuts)
        deadlines = [(node.spec.id, *deadline) for node in nodes for deadline in node.deadlines]
        if deadlines:
            yield Many("add_deadline", deadlines)
        if not nodes:
            yield from end_flow(dialect, FlowRow(flow.id, on_failure, 0, 0, 0, 0), followed)
        unwanted = [_new(node, flow.id) for node in nodes if node.skipped and node.verdict is Verdict.SKIP]
        over = yield from settle(dialect, WORKFLOW, unwanted, followed)
        yield from advance(dialect, door, WORKFLOW, over, followed)
        return answer

    async def flow(self, flow_id: str) -> FlowRow:
        rows = await self._read("flow", id=flow_id)
        if not rows:
            raise NotFoundError("flow", flow_id, "holdfast flow list")
        return FlowRow(*rows[0])

    async def nodes(self, flow_id: str) -> list[NodeRow]:
        return [NodeRow(*row) for row in await self._read("flow_nodes", flow_id=flow_id)]

    async def edges(self, flow_id: str) -> list[tuple[str, str]]:
        """(parent, child) by job id."""
        return [(parent, child) for parent, child, _ in await self._read("flow_edges", flow_id=flow_id)]

    async def node(self, job_id: str) -> tuple[str, str, int | None] | None:
        """Flow id, name and item of the node that a job is; None for a job that is none."""
        rows = await self._read("node_of", job_id=job_id)
        return tuple(rows[0]) if rows else None

    async def parents(self, job_id: str) -> list[Parent]:
        return [Parent(*row) for row in await self._read("node_parents", job_id=job_id)]

    async def _read(self, name: str, **params: Any) -> list[Any]:
        def script() -> Script[list[Any]]:
            rows = yield Query(name, params)
            return rows

        return await self._store.driver.read(script())

    async def cancel(self, flow_id: str, reason: str, *, hard: bool = False, actor: str = "client") -> int:
        """Cancel every node that has not ended: at once, or by asking its worker. The flow ends with the last one."""
        followed: list[Change] = []
        done = await self._store.driver.write(self._cancel(flow_id, reason, hard, actor, followed))
        _log(followed)
        return done

    def _cancel(self, flow_id: str, reason: str, hard: bool, actor: str, followed: list[Change]) -> Script[int]:
        dialect = self._store.dialect
        yield Query("lock_flow", {"id": flow_id})
        rest = yield from cancel_rest(dialect, WORKFLOW, flow_id, reason, followed, actor=actor, hard=hard)
        if not rest.flow.open:
            yield from end_flow(dialect, rest.flow, followed, reason=reason)
        return rest.cancelled

    async def resume(self, flow_id: str, reason: str, actor: str = "client") -> int:
        """Bring a cancelled flow back: its cancelled nodes run, or wait, anew; how many did not end well."""
        followed: list[Change] = []
        store = self._store
        script = resume(store.dialect, store.door, flow_id, reason, actor, await store.now_ms(), followed)
        done = await store.driver.write(script)
        _log(followed)
        return done


def _node(node: NewNode, flow_id: str) -> NodeColumns:
    join = (node.join.kind.value, node.join.n)
    return NodeColumns(node.spec.id, flow_id, node.name, node.item, *join, len(node.parents), node.done, node.skipped)


def _new(node: NewNode, flow_id: str) -> Waiting:
    """A node that has just been created to wait."""
    edges = (len(node.parents), node.done, node.skipped, 0)
    return Waiting(node.spec.id, flow_id, node.join.kind.value, node.join.n, *edges, Canonical.WAITING.value, 1, 0)


def _log(followed: list[Change]) -> None:
    transitions.applied(followed, [move.job_id for change in followed for move in change.moves])
