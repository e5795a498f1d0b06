"""A flow is stopped: what nobody holds is cancelled, and whoever holds the rest is asked."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from holdfast.kernel.graph.readiness import Edge
from holdfast.kernel.lifecycle import Command, Lifecycle
from holdfast.kernel.move import Change, Move, effect_of
from holdfast.kernel.settle import because
from holdfast.kernel.state import LEASED
from holdfast.store.dialect import Dialect, EndedNode, FlowCount
from holdfast.store.port import FlowRow, Lease
from holdfast.store.script import Query, Script

ACTOR = "engine"
LOOKS = 20
"""How often one stop looks again at jobs that moved while it was at it: they are claimed and retried meanwhile."""


class Rest(NamedTuple):
    """How many nodes were cancelled at once, and the flow's counts since."""

    cancelled: int
    flow: FlowRow


def cancel_rest(
    dialect: Dialect,
    table: Lifecycle,
    flow_id: str,
    reason: str,
    followed: list[Change],
    *,
    actor: str = ACTOR,
    hard: bool = False,
    cause: str | None = None,
) -> Script[Rest]:
    """Cancel what nobody holds of a locked flow, and ask the owners of the rest to stop; `hard`, cancel that too."""
    done: list[str] = []
    asked: set[str] = set()
    for _ in range(LOOKS):
        missed = 0
        leases: list[Lease] = []
        groups: dict[str, list[Move]] = defaultdict(list)
        for job_id, state, attempt in (yield Query("flow_rest", {"flow_id": flow_id})):
            if state not in LEASED or hard:
                groups[state].append(Move(job_id, attempt, reason=reason, cause=cause))
            elif job_id not in asked:
                leases.append(Lease(job_id, attempt))
        if leases:
            rows = yield Query("request_cancel", {**dialect.leases(leases), "mode": f"soft: {reason}"})
            asked |= {row[0] for row in rows}
            missed += len(leases) - len(rows)
        for state, moves in groups.items():
            change = because(Change(table, (table.row(state, Command.CANCEL),), actor, moves), reason)
            moved = yield from dialect.apply(change, effect_of(table, change.path))
            followed.append(change._replace(moves=[move for move in change.moves if move.job_id in moved]))
            done += moved
            missed += len(moves) - len(moved)
        if not missed:
            break
    # Nobody is left to be decided about, but who comes back one day goes by these counts.
    ended = [EndedNode(job_id, Edge.BROKEN) for job_id in done]
    tallied = yield from dialect.tally(ended, [FlowCount(flow_id, 0, len(done), 0, len(done))])
    return Rest(len(done), tallied.flows[0])
