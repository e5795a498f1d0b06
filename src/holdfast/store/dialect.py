"""What the two databases do in ways of their own: the few hot statements. All else is shared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Lifecycle, Transition
from holdfast.kernel.log import LogRow
from holdfast.kernel.move import Change, Effect
from holdfast.store.port import FlowRow, Lease, Signal
from holdfast.store.script import Script


class NewJob(NamedTuple):
    """A job to create, with its first event: the order is the order of the statement's columns."""

    id: str
    lifecycle: str
    task: str
    queue: str
    priority: int
    state: str
    ready: bool
    max_tries: int
    lease_ms: int
    delay_ms: int
    due_at_ms: int | None
    expire_after_ms: int | None
    keep_until_ms: int | None
    key_scope: str | None
    key: str | None
    correlation_id: str | None
    trace_id: str | None
    parent_id: str | None
    tags: str | None
    options: str | None
    turn: int
    gate: str
    payload: str | None
    event_type: str
    actor: str
    reason: str | None
    cause: str | None
    event_payload: str | None
    digest: bytes


class Lane(NamedTuple):
    """Jobs that are claimed alike: one queue, lifecycle, state and turn, and one gate if they have any."""

    queue: str
    lifecycle: str
    state: str
    turn: int
    gate: str = ""
    up_to: int | None = None
    """Of nodes of flows, which have a turn for each depth: all turns from the first to this one are one lane."""


class ClaimFrom(NamedTuple):
    """Where the last claim of a lane ended; the next one starts behind it."""

    due_at_ms: int
    id: str


START = ClaimFrom(-(1 << 62), "00000000-0000-0000-0000-000000000000")


class EndedNode(NamedTuple):
    """A node's end, for those that wait for it: what becomes of the edges, but for the ones to nodes in `cut`.

    `more` is how many edges there are in place of this one, beside it: a node that ran over a list stands for many.
    """

    job_id: str
    edge: str
    not_taken: tuple[str, ...] = ()
    more: int = 0


class Waiting(NamedTuple):
    """A node that waits for one that has ended, as it stands now."""

    job_id: str
    flow_id: str
    join_kind: str
    need: int
    parents: int
    taken: int
    dead: int
    broken: int
    state: str
    attempt: int
    delay_ms: int


class NodeColumns(NamedTuple):
    """A node to put on record: the order is the order of the statement's columns."""

    job_id: str
    flow_id: str
    name: str
    item: int | None
    join_kind: str
    need: int
    parents: int
    taken: int = 0
    dead: int = 0
    broken: int = 0


class FlowCount(NamedTuple):
    """What to add to a flow's counts: new nodes, nodes that have ended, and how."""

    flow_id: str
    more: int
    ended: int
    failed: int
    cancelled: int


class Tallied(NamedTuple):
    """Those that wait for nodes that have ended, and the flows of these."""

    waiting: list[Waiting]
    flows: list[FlowRow]


def of_effect(effect: Effect) -> dict[str, Any]:
    """What a path does to the columns of a job, as the parameters of the statement that applies it."""
    return {
        "source": effect.source,
        "target": effect.target,
        "steps": effect.steps,
        "opens": effect.opens,
        "tries_reset": effect.tries_reset,
        "tries_delta": effect.tries_delta,
        "losses": effect.losses,
        "ready": effect.ready,
        "keeps_lease": effect.keeps_lease,
        "starts": effect.starts,
        "finishes": effect.finishes,
        "reopens": effect.reopens,
        "stale_after_ms": effect.stale_after_ms,
    }


class Dialect(Protocol):
    """The hot statements as scripts, and how a list is handed to a statement."""

    name: str

    def now(self) -> int | None:
        """The time for a statement; None when the database's own clock decides."""
        ...

    def is_missing_table(self, error: Exception) -> bool:
        """Whether a statement failed since there is no such table."""
        ...

    def row(self, row: Sequence[Any]) -> LogRow:
        """A row of the log as it was read."""
        ...

    def bytes_of(self, value: Any) -> bytes | None:
        """Bytes as a list of a row has them."""
        ...

    def array(self, values: Sequence[Any]) -> Any: ...

    def leases(self, leases: Sequence[Lease]) -> dict[str, Any]:
        """Leases as the parameters of a statement."""
        ...

    def signal_row(self, signal: Signal, ttl_ms: int) -> tuple[Any, ...]: ...

    def create(self, jobs: Sequence[NewJob]) -> Script[None]: ...

    def hold_keys(
        self, keys: Sequence[tuple[str, str, str]], hold: str, window_ms: int | None
    ) -> Script[dict[tuple[str, str], str]]:
        """(scope, key) → the id of the job that holds it now, for (scope, key, job id) that want it."""
        ...

    def claim(
        self, lane: Lane, claim_from: ClaimFrom, path: tuple[Transition, ...], effect: Effect, limit: int, owner: str
    ) -> Script[list[Job]]:
        """From behind the floor of a lane; of one with several turns, from its head."""
        ...

    def take_over(
        self,
        row: Transition,
        effect: Effect,
        table: Lifecycle,
        queues: Sequence[str],
        budget: int,
        limit: int,
        owner: str,
    ) -> Script[list[Job]]: ...

    def at_once(self, change: Change, effect: Effect) -> Script[dict[str, int]] | None:
        """What `apply` does, in one statement: where this process has all jobs of the change in hand."""
        ...

    def apply(self, change: Change, effect: Effect, flows: dict[str, str] | None = None) -> Script[dict[str, int]]:
        """Job id → new version, of the moves that took effect.

        With `flows`, the flows of the jobs are locked before anything else; it gets job id → flow id of those moved.
        """
        ...

    def renew(self, owner: str, leases: Sequence[Lease], beat: bool, ttl_ms: int) -> Script[set[str]]:
        """The ids of the leases that were extended."""
        ...

    def let_go(self, owner: str, leases: Sequence[Lease]) -> Script[None]:
        """End leases now."""
        ...

    def add_nodes(self, nodes: Sequence[NodeColumns], edges: Sequence[tuple[str, str]]) -> Script[None]:
        """Put nodes on record, and the edges (parent, child) into them."""
        ...

    def tally(self, ended: Sequence[EndedNode], counts: Sequence[FlowCount]) -> Script[Tallied]:
        """Count ends for the nodes that wait for them, and for their flows; how all these stand then."""
        ...

    def turns(self, turns: Mapping[str, int]) -> dict[str, Any]:
        """Turns of jobs as the parameters of a statement."""
        ...

    def erased(self, row: LogRow) -> dict[str, Any]:
        """What is left of a row of the log, as the parameters of a statement."""
        ...
