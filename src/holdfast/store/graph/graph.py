"""Flows in the tables: submitted, looked at, cancelled and brought back in one transaction each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.kernel.errors import NotAllowedError, NotFoundError
from holdfast.kernel.graph.dag import Join, JoinKind
from holdfast.kernel.graph.lineage import retry_key
from holdfast.kernel.graph.readiness import Verdict
from holdfast.kernel.graph.workflow_lifecycle import WORKFLOW
from holdfast.kernel.job import Job, Spec
from holdfast.kernel.move import Change
from holdfast.kernel.state import SUCCESSFUL, Canonical
from holdfast.observe import transitions
from holdfast.store.dialect import Dialect, NodeColumns, Waiting
from holdfast.store.graph.advancing import advance, end_flow, settle
from holdfast.store.jobs.admission import Admission
from holdfast.store.jobs.remembering import facts, remembered
from holdfast.store.jobs.submitting import submit
from holdfast.store.port import (
    Ask,
    Facts,
    Filter,
    FlowRow,
    NewNode,
    NodeRow,
    Parent,
    Plan,
    Refused,
    Stopped,
    Submitted,
    VersionError,
    Way,
)
from holdfast.store.read.listing import LAST_ID, walk
from holdfast.store.read.rows import histories
from holdfast.store.script import Many, Query, Script, rows_of

if TYPE_CHECKING:
    from holdfast.store.database import Driver

FEW = 100


class SqlGraph:
    """See `holdfast.store.port.Graph`."""

    def __init__(self, driver: Driver, admission: Admission) -> None:
        self._driver = driver
        self._dialect = driver.dialect
        self._admission = admission

    async def submit(self, flow: Spec, nodes: Sequence[NewNode], on_failure: str, ask: Ask | None = None) -> Facts:
        return await self._made(_known(Plan(flow, nodes, on_failure)), ask)

    async def go_on(self, flow_id: str, plan: Callable[[Stopped], Plan], ask: Ask | None = None) -> Facts:
        versions = None if ask is None else ask.versions
        return await self._made(_planned(self._dialect, flow_id, plan, versions), ask)

    async def _made(self, planning: Script[Plan | Submitted], ask: Ask | None) -> Facts:
        made: list[Spec] = []
        followed: list[Change] = []
        script = self._recorded(planning, ask, made, followed)
        done = await self._driver.write(script if ask is None else remembered(self._dialect, ask, script))
        transitions.submitted((spec, self._admission.tables[spec.lifecycle].submit_event) for spec in made)
        _log(followed)
        return done

    def _recorded(
        self, planning: Script[Plan | Submitted], ask: Ask | None, made: list[Spec], followed: list[Change]
    ) -> Script[Facts]:
        try:
            answer = yield from self._create(planning, made, followed)
        except NotAllowedError as error:
            if ask is None or ask.op_id is None or made:
                raise
            return Facts(refused={"": Refused.by(error)})
        done = Facts(made=[answer])
        return done if ask is None else (yield from facts(self._dialect, done, [answer.job_id]))

    def _create(
        self, planning: Script[Plan | Submitted], made: list[Spec], followed: list[Change]
    ) -> Script[Submitted]:
        plan = yield from planning
        if isinstance(plan, Submitted):
            return plan
        dialect, admission = self._dialect, self._admission
        flow, nodes, on_failure = plan
        [answer] = yield from submit(dialect, admission, [flow], followed)
        if not answer.created:
            return answer
        made += [flow, *(node.spec for node in nodes)]
        yield Query("add_flow", {"id": flow.id, "on_failure": on_failure, "nodes": len(nodes)})
        if nodes:
            yield from dialect.create([admission.admit(node.spec) for node in nodes])
            edges = [(parent, node.spec.id) for node in nodes for parent in node.parents]
            yield from dialect.add_nodes([_node(node, flow.id) for node in nodes], edges)
        if cuts := [(parent, node.name) for node in nodes for parent in node.not_taken]:
            yield Many("cut_edge", cuts)
        deadlines = [(node.spec.id, *deadline) for node in nodes for deadline in node.deadlines]
        if deadlines:
            yield Many("add_deadline", deadlines)
        if not nodes:
            yield from end_flow(dialect, FlowRow(flow.id, on_failure, 0, 0, 0, 0), followed)
        unwanted = [_new(node, flow.id) for node in nodes if node.skipped and node.verdict is Verdict.SKIP]
        over = yield from settle(dialect, WORKFLOW, unwanted, followed)
        yield from advance(dialect, admission, WORKFLOW, over, followed)
        return answer

    async def flow(self, flow_id: str) -> FlowRow:
        rows = await self._rows("flow", id=flow_id)
        if not rows:
            raise NotFoundError("flow", flow_id, "holdfast flow list")
        return FlowRow(*rows[0])

    async def nodes(self, flow_id: str) -> list[NodeRow]:
        return [NodeRow(*row) for row in await self._rows("flow_nodes", flow_id=flow_id)]

    async def node(self, job_id: str) -> tuple[str, str, int | None] | None:
        rows = await self._rows("node_of", job_id=job_id)
        return tuple(rows[0]) if rows else None

    async def inputs(self, job_id: str, flow_id: str | None) -> tuple[list[Parent], str | None]:
        return await self._driver.read(_inputs(job_id, flow_id))

    async def parents(self, job_id: str) -> list[Parent]:
        return [Parent(*row) for row in await self._rows("node_parents", job_id=job_id)]

    async def counts(self, flow_ids: Sequence[str]) -> dict[str, FlowRow]:

        def script() -> Script[dict[str, FlowRow]]:
            found = {}
            for flow_id in flow_ids:
                for row in (yield Query("flow", {"id": flow_id})):
                    found[flow_id] = FlowRow(*row)
            return found

        return await self._driver.read(script())

    async def kept(self, flow_id: str) -> list[NodeRow]:
        return [NodeRow(*row) for row in await self._rows("flow_kept", flow_id=flow_id)]

    async def ways(self, flow_id: str) -> list[Way]:
        return [Way(parent, child, bool(cut)) for parent, child, cut in await self._rows("flow_edges", flow_id=flow_id)]

    async def reasons(self, flow_id: str) -> dict[str, str | None]:
        return dict(await self._rows("flow_reasons", flow_id=flow_id))

    async def queued(self, flow_id: str) -> dict[str, int]:
        return await self._driver.read(_queued(self._dialect, flow_id))

    async def join(self, job_id: str) -> Join:
        [(kind, need)] = await self._rows("node_join", job_id=job_id)
        return Join(JoinKind(kind), need)

    async def children(self, job_id: str) -> list[tuple[str, bool]]:
        return [(name, bool(cut)) for name, cut in await self._rows("node_ways", job_id=job_id)]

    async def retried_as(self, flow: Job) -> Job | None:
        return await self._driver.read(_retry_of(flow))

    async def _rows(self, name: str, **params: Any) -> list[Any]:
        return await self._driver.read(rows_of(name, params))


def _inputs(job_id: str, flow_id: str | None) -> Script[tuple[list[Parent], str | None]]:
    parents = [Parent(*row) for row in (yield Query("node_parents", {"job_id": job_id}))]
    flow = [] if flow_id is None else (yield Query("get", {"id": flow_id}))
    return parents, Job._make(flow[0]).payload if flow else None


def _queued(dialect: Dialect, flow_id: str) -> Script[dict[str, int]]:
    nodes = [row[0] for row in (yield Query("flow_nodes_of", {"flow_id": flow_id}))]
    found = yield from histories(dialect, nodes)
    queued = {job_id: [e.at_ms for e in events if e.to_state == Canonical.QUEUED] for job_id, events in found.items()}
    return {job_id: max(times) for job_id, times in queued.items() if times}


def _known(plan: Plan) -> Script[Plan | Submitted]:
    yield from ()
    return plan


def _planned(
    dialect: Dialect, flow_id: str, plan: Callable[[Stopped], Plan], versions: frozenset[int] | None
) -> Script[Plan | Submitted]:
    # Locked, so that nobody brings the old one back meanwhile.
    yield Query("lock_flow", {"id": flow_id})
    found = yield Query("get", {"id": flow_id})
    counts = yield Query("flow", {"id": flow_id})
    if not found or not counts:
        raise NotFoundError("flow", flow_id, "holdfast flow list")
    flow = Job._make(found[0])
    if versions is not None and flow.version not in versions:
        raise VersionError(flow.id, flow.version)
    before = yield from _retry_of(flow)
    if before is not None:
        return Submitted(before.id, False)
    nodes = {row[0]: NodeRow(*row) for row in (yield Query("flow_nodes", {"flow_id": flow_id}))}
    kept = {row[0]: NodeRow(*row) for row in (yield Query("flow_kept", {"flow_id": flow_id}))}
    ways = [Way(*row) for row in (yield Query("flow_edges", {"flow_id": flow_id}))]
    ids = dialect.array([node.job_id for node in nodes.values() if node.state not in SUCCESSFUL])
    jobs = {job.id: job for job in map(Job._make, (yield Query("get_many", {"ids": ids})))}
    return plan(Stopped(flow, FlowRow(*counts[0]), nodes, kept, ways, jobs))


def _retry_of(flow: Job) -> Script[Job | None]:
    walked = yield from walk(Filter(key_scope=flow.task, key=retry_key(flow.id)), 1, LAST_ID, FEW)
    return walked.jobs[0] if walked.jobs else None


def _node(node: NewNode, flow_id: str) -> NodeColumns:
    join = (node.join.kind.value, node.join.n)
    return NodeColumns(node.spec.id, flow_id, node.name, node.item, *join, len(node.parents), node.done, node.skipped)


def _new(node: NewNode, flow_id: str) -> Waiting:
    """A node that has just been created to wait."""
    edges = (len(node.parents), node.done, node.skipped, 0)
    return Waiting(node.spec.id, flow_id, node.join.kind.value, node.join.n, *edges, Canonical.WAITING.value, 1, 0)


def _log(followed: list[Change]) -> None:
    transitions.applied(followed, [move.job_id for change in followed for move in change.moves])
