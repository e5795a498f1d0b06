"""A cancelled flow comes back: its cancelled nodes run, or wait, anew, and all counts are as if they had not ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from holdfast.kernel.errors import DuplicateKeyError
from holdfast.kernel.graph.dag import Join, JoinKind
from holdfast.kernel.graph.flow_lifecycle import FLOW
from holdfast.kernel.graph.readiness import Tally, Verdict, decide
from holdfast.kernel.graph.workflow_lifecycle import WORKFLOW
from holdfast.kernel.lifecycle import Command
from holdfast.kernel.move import Change, Move, effect_of
from holdfast.kernel.state import OVER, RANK, Canonical
from holdfast.store.dialect import Dialect, Waiting
from holdfast.store.graph.advancing import advance, settle
from holdfast.store.jobs.admission import Admission
from holdfast.store.port import NodeRow
from holdfast.store.script import Many, Query, Script


def resume(
    dialect: Dialect, admission: Admission, flow_id: str, reason: str, actor: str, now_ms: int, followed: list[Change]
) -> Script[int]:
    """How many nodes came back. NotAllowedError for a flow that is not cancelled, DuplicateKeyError for one whose key
    another has by now."""
    # Keys before flows, as whoever replaces a flow does.
    yield from _take_key(dialect, flow_id)
    yield Query("lock_flow", {"id": flow_id})
    [(_, state, attempt)] = yield Query("where_stands", {"id": flow_id})
    change = Change(FLOW, (FLOW.row(state, Command.RESUME),), actor, [Move(flow_id, attempt, reason=reason)])
    yield from dialect.apply(change, effect_of(FLOW, change.path))
    followed.append(change)
    nodes = {row[0]: NodeRow(*row) for row in (yield Query("flow_nodes", {"flow_id": flow_id}))}
    edges = yield Query("flow_edges", {"flow_id": flow_id})
    back = {node.job_id: node for node in nodes.values() if node.state == Canonical.CANCELLED}
    tallies = _without(back, nodes, edges)
    yield Many("set_tally", [(t.taken, t.dead, t.broken, job_id) for job_id, t in sorted(tallies.items())])
    yield Query("reopen_flow", {"id": flow_id, "open": len(back) + _open(nodes.values())})
    groups: dict[str, list[Move]] = defaultdict(list)
    unwanted: list[Waiting] = []
    for job_id, node in sorted(back.items()):
        verdict = decide(Join(JoinKind(node.join_kind), node.need), tallies[job_id])
        if verdict is Verdict.RELEASE:
            groups[Command.RESUME].append(_again(node, now_ms, reason))
        else:
            groups[Command.RESUME_WAITING].append(Move(job_id, node.attempt, reason=reason))
        if verdict in (Verdict.SKIP, Verdict.BLOCK):
            unwanted.append(_waiting(node, flow_id, tallies[job_id]))
    for how, moves in groups.items():
        change = Change(WORKFLOW, (WORKFLOW.row(Canonical.CANCELLED, how),), actor, moves)
        yield from dialect.apply(change, effect_of(WORKFLOW, change.path))
        followed.append(change)
    over = yield from settle(dialect, WORKFLOW, unwanted, followed)
    yield from advance(dialect, admission, WORKFLOW, over, followed)
    return len(back)


def _take_key(dialect: Dialect, flow_id: str) -> Script[None]:
    policies = FLOW.policies
    for job_id, scope, key in (yield Query("keys_of", {"ids": dialect.array([flow_id])})):
        held = yield from dialect.hold_keys([(scope, key, job_id)], policies.key_hold.value, policies.key_window_ms)
        if (holder := held[scope, key]) != job_id:
            raise DuplicateKeyError(scope, key, holder)


def _again(node: NodeRow, now_ms: int, reason: str) -> Move:
    """A node that never began is not brought back before its time."""
    delay_ms = max(0, node.due_at_ms - now_ms) if node.started_at_ms is None else 0
    payload = f'{{"delay_ms":{delay_ms}}}' if delay_ms else None
    return Move(node.job_id, node.attempt, delay_ms, reason, payload=payload)


def _without(back: dict[str, NodeRow], nodes: dict[str, NodeRow], edges: Sequence[Any]) -> dict[str, Tally]:
    """How the edges into nodes stand once those that come back count as pending again."""
    broken: dict[str, int] = defaultdict(int)
    for parent, child, _ in edges:
        if parent in back:
            broken[child] += 1
    return {
        job_id: node.tally._replace(broken=node.broken - broken[job_id])
        for job_id, node in nodes.items()
        if job_id in back or broken[job_id]
    }


def _waiting(node: NodeRow, flow_id: str, tally: Tally) -> Waiting:
    """A node that has just been brought back to wait."""
    stands = (Canonical.WAITING.value, node.attempt + 1, 0)
    return Waiting(node.job_id, flow_id, node.join_kind, node.need, *tally, *stands)


def _open(nodes: Any) -> int:
    return sum(RANK[node.state] < OVER for node in nodes)
