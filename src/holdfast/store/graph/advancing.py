"""A flow goes on: what the end of a node means for those that wait for it, in the transaction that ends it.

Whoever ends a node locks its flow first. So of parents that end at once each sees what the others did, and the last of
them, and only that one, releases the child. Skips and blocks run on from node to node in rounds, never by recursion.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from holdfast.kernel.graph.dag import Join, JoinKind, OnFailure
from holdfast.kernel.graph.flow_lifecycle import FLOW
from holdfast.kernel.graph.readiness import (
    BRANCH_NOT_TAKEN,
    FLOW_FAILED,
    UPSTREAM_FAILED,
    Edge,
    Tally,
    Verdict,
    decide,
    edge_of,
)
from holdfast.kernel.job import Failure, Spec
from holdfast.kernel.lifecycle import Command, Lifecycle
from holdfast.kernel.move import Change, Move, effect_of
from holdfast.kernel.settle import because
from holdfast.kernel.state import SUCCESSFUL, Canonical
from holdfast.store.dialect import Dialect, EndedNode, FlowCount, Waiting
from holdfast.store.graph.mapping import spawn
from holdfast.store.graph.stopping import ACTOR, cancel_rest
from holdfast.store.jobs.admission import Admission
from holdfast.store.port import FlowRow
from holdfast.store.script import Many, Query, Script


class End(NamedTuple):
    """A node that has ended, and what it leaves behind."""

    job_id: str
    flow_id: str
    state: str
    not_taken: tuple[str, ...] = ()
    items: tuple[Spec, ...] | None = None

    @property
    def failed(self) -> bool:
        return self.state not in SUCCESSFUL and self.state != Canonical.CANCELLED

    @property
    def edge(self) -> EndedNode:
        """What becomes of the edges to those that wait for it."""
        edge = edge_of(self.state).value
        if self.items:
            # The node's own edge is spent: its items stand in for it, one edge each.
            return EndedNode(self.job_id, "spent", (), len(self.items) - 1)
        return EndedNode(self.job_id, edge, self.not_taken if edge == Edge.TAKEN else ())


def lock(dialect: Dialect, job_ids: Sequence[str]) -> Script[dict[str, str]]:
    """Job id → flow id, of those that are nodes. Their flows are locked until the transaction ends."""
    if not job_ids:
        return {}
    rows = yield Query("lock_flows", {"ids": dialect.array(sorted(job_ids))})
    return dict(rows)


def ends(change: Change, moved: Mapping[str, int], flows: Mapping[str, str]) -> list[End]:
    """The nodes that a change has ended."""
    state = change.path[-1].target.value
    found = [move for move in change.moves if move.job_id in moved and move.job_id in flows]
    return [End(move.job_id, flows[move.job_id], state, *(move.follow or ())) for move in found]


def advance(
    dialect: Dialect, admission: Admission, table: Lifecycle, ended: Sequence[End], followed: list[Change]
) -> Script[None]:
    """Release, skip and block what these ends decide, and end the flows that have no open node left."""
    flows: dict[str, FlowRow] = {}
    troubled: set[str] = set()
    frontier = list(ended)
    while frontier:
        yield from spawn(dialect, admission, frontier)
        if cuts := [(end.job_id, name) for end in frontier for name in end.not_taken]:
            yield Many("cut_edge", cuts)
        tallied = yield from dialect.tally([end.edge for end in frontier], _counts(frontier))
        flows |= {row.id: row for row in tallied.flows}
        # A flow that fails is stopped once, and once more for each node that spread out behind its back.
        troubled |= {end.flow_id for end in frontier if end.failed or end.items}
        frontier = yield from settle(dialect, table, tallied.waiting, followed)
    for flow_id in sorted(flows):
        row = flows[flow_id]
        if flow_id in troubled and row.open and row.failed and row.on_failure == OnFailure.FAIL_FAST:
            row = (yield from cancel_rest(dialect, table, flow_id, FLOW_FAILED, followed)).flow
        if not row.open:
            yield from end_flow(dialect, row, followed)


def _counts(frontier: Sequence[End]) -> list[FlowCount]:
    ended: dict[str, list[End]] = defaultdict(list)
    for end in frontier:
        ended[end.flow_id].append(end)
    return [
        FlowCount(
            flow_id,
            more=sum(len(end.items) for end in ends if end.items),
            ended=len(ends),
            failed=sum(end.failed for end in ends),
            cancelled=sum(end.state == Canonical.CANCELLED for end in ends),
        )
        for flow_id, ends in sorted(ended.items())
    ]


def settle(dialect: Dialect, table: Lifecycle, waiting: Sequence[Waiting], followed: list[Change]) -> Script[list[End]]:
    """Move those that are decided; those that ended by it."""
    moves: dict[Verdict, list[Move]] = defaultdict(list)
    flows: dict[str, str] = {}
    for node in waiting:
        if node.state != Canonical.WAITING:
            continue
        if (verdict := _verdict(*node[2:8])) is Verdict.WAIT:
            continue
        flows[node.job_id] = node.flow_id
        payload = f'{{"delay_ms":{node.delay_ms}}}' if node.delay_ms and verdict is Verdict.RELEASE else None
        moves[verdict].append(Move(node.job_id, node.attempt, node.delay_ms, REASONS.get(verdict), payload=payload))
    over: list[End] = []
    for verdict, command in COMMANDS.items():
        if not moves[verdict]:
            continue
        change = Change(table, (table.row(Canonical.WAITING, command),), ACTOR, sorted(moves[verdict]))
        if reason := REASONS.get(verdict):
            change = because(change, reason)
        moved = yield from dialect.apply(change, effect_of(table, change.path))
        followed.append(change)
        if verdict is not Verdict.RELEASE:
            over += ends(change, moved, flows)
    return over


COMMANDS = {Verdict.RELEASE: Command.RELEASE, Verdict.SKIP: Command.SKIP, Verdict.BLOCK: Command.CANCEL}
REASONS = {Verdict.SKIP: BRANCH_NOT_TAKEN, Verdict.BLOCK: UPSTREAM_FAILED}


@lru_cache(maxsize=4096)
def _verdict(kind: str, need: int, parents: int, taken: int, dead: int, broken: int) -> Verdict:
    """Kept: the nodes of a flow mostly wait for the same."""
    return decide(Join(JoinKind(kind), need), Tally(parents, taken, dead, broken))


def end_flow(
    dialect: Dialect, row: FlowRow, followed: list[Change], *, reason: str = "cancelled", cause: str | None = None
) -> Script[None]:
    """The last node has ended: so has the flow. `reason` and `cause` are those of a cancel."""
    [(_, state, attempt)] = yield Query("where_stands", {"id": row.id})
    if state != Canonical.WAITING:
        return
    if row.failed:
        failure = Failure("node_failed", "permanent", f"{row.failed} of {row.nodes} nodes failed", {"flow_id": row.id})
        outcome = json.dumps({"error": failure.to_dict()}, separators=(",", ":"))
        command, move = Command.FAIL, Move(row.id, attempt, reason="node_failed", payload=outcome, outcome=outcome)
    elif row.cancelled:
        command, move = Command.CANCEL, Move(row.id, attempt, reason=reason, cause=cause)
    else:
        command, move = Command.SUCCEED, Move(row.id, attempt, outcome=f'{{"result":{{"nodes":{row.nodes}}}}}')
    change = Change(FLOW, (FLOW.row(Canonical.WAITING, command),), ACTOR, [move])
    yield from dialect.apply(change, effect_of(FLOW, change.path))
    followed.append(change)
