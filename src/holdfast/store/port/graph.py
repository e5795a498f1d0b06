"""Flows in the tables: submitted, looked at, cancelled and brought back in one transaction each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from holdfast.kernel.graph.dag import Join
from holdfast.kernel.graph.readiness import Tally, Verdict, decide
from holdfast.kernel.job import Job, Spec

if TYPE_CHECKING:
    from holdfast.store.port.ask import Ask, Facts


class FlowRow(NamedTuple):
    """A flow's counts."""

    id: str
    on_failure: str
    nodes: int
    open: int
    failed: int
    cancelled: int


class NodeRow(NamedTuple):
    """A node and where its job stands."""

    job_id: str
    name: str
    item: int | None
    join_kind: str
    need: int
    parents: int
    taken: int
    dead: int
    broken: int
    state: str
    attempt: int
    task: str
    created_at_ms: int
    due_at_ms: int
    started_at_ms: int | None
    finished_at_ms: int | None
    tries: int

    @property
    def tally(self) -> Tally:
        return Tally(self.parents, self.taken, self.dead, self.broken)


class Way(NamedTuple):
    """An edge, by job ids; `cut` when the parent's branch left the child out."""

    parent: str
    child: str
    not_taken: bool


class Parent(NamedTuple):
    """One of those that a node waits for, and what came out of it."""

    name: str
    item: int | None
    state: str
    outcome: str | None
    job_id: str
    not_taken: bool


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
    not_taken: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """What becomes of it as it is created."""
        return decide(self.join, Tally(len(self.parents), self.done, self.skipped))


class Plan(NamedTuple):
    """A flow to create, with all its nodes."""

    flow: Spec
    nodes: Sequence[NewNode]
    on_failure: str


class Stopped(NamedTuple):
    """A flow, locked, with all that one that goes on with it is planned from."""

    job: Job
    row: FlowRow
    nodes: dict[str, NodeRow]
    kept: dict[str, NodeRow]
    """Nodes of earlier flows that nodes of this one come after."""
    ways: list[Way]
    jobs: dict[str, Job]
    """Those of its nodes that did not end well."""


class Graph(Protocol):
    """Flows, and the nodes that they are made of."""

    async def submit(self, flow: Spec, nodes: Sequence[NewNode], on_failure: str, ask: Ask | None = None) -> Facts:
        """Create a flow with all its nodes, or nothing when its key is held by another: that one is the answer.

        Without `ask` the answer is who it is, and no more of what it is like.
        """
        ...

    async def go_on(self, flow_id: str, plan: Callable[[Stopped], Plan], ask: Ask | None = None) -> Facts:
        """Create the flow that is planned to go on with this one; one that was made before is the answer.

        It is planned while nobody can bring the old one back. `plan` refuses by raising.
        """
        ...

    async def flow(self, flow_id: str) -> FlowRow: ...

    async def counts(self, flow_ids: Sequence[str]) -> dict[str, FlowRow]:
        """The counts of several flows, by id."""
        ...

    async def nodes(self, flow_id: str) -> list[NodeRow]: ...

    async def kept(self, flow_id: str) -> list[NodeRow]:
        """The nodes of earlier flows that nodes of this one come after."""
        ...

    async def ways(self, flow_id: str) -> list[Way]:
        """The edges into the nodes of a flow."""
        ...

    async def reasons(self, flow_id: str) -> dict[str, str | None]:
        """Why nodes were skipped or cancelled, by job id."""
        ...

    async def queued(self, flow_id: str) -> dict[str, int]:
        """When nodes became ready to run, by job id; those that never did are not in it."""
        ...

    async def node(self, job_id: str) -> tuple[str, str, int | None] | None:
        """Flow id, name and item of the node that a job is; None for a job that is none."""
        ...

    async def parents(self, job_id: str) -> list[Parent]: ...

    async def inputs(self, job_id: str, flow_id: str | None) -> tuple[list[Parent], str | None]:
        """What a node is run with: its parents, and the payload of its flow where that is asked for."""
        ...

    async def join(self, job_id: str) -> Join:
        """How a node joins those that it comes after."""
        ...

    async def children(self, job_id: str) -> list[tuple[str, bool]]:
        """Of each node that waits for this one, its name, and whether it was left out."""
        ...

    async def retried_as(self, flow: Job) -> Job | None:
        """The flow that was made to go on with this one; None when there is none."""
        ...
