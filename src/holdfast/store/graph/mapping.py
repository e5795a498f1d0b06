"""A node runs over a list: one job for each item takes its place, unless it was asked to stop meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.kernel.graph.dag import JoinKind
from holdfast.kernel.lifecycle import Command
from holdfast.kernel.move import Change, Move
from holdfast.kernel.settle import because, stop_reason
from holdfast.store.dialect import Dialect, NodeColumns
from holdfast.store.jobs.turns import move_up
from holdfast.store.script import Query, Script

if TYPE_CHECKING:
    from holdfast.store.graph.advancing import End
    from holdfast.store.jobs.admission import Admission


def spreads(change: Change) -> list[str]:
    """The jobs that a change ends as nodes with items."""
    return [move.job_id for move in change.moves if move.follow and move.follow.items]


def asked_to_stop(dialect: Dialect, changes: Sequence[Change]) -> Script[list[Change]]:
    """What becomes of nodes with items that were asked to stop: cancelled, since their items would outlive the request.

    Their flows are locked, so that nobody asks from now on.
    """
    ids = [job_id for change in changes for job_id in spreads(change)]
    asked = dict((yield Query("asked", {"ids": dialect.array(ids)})))
    found = []
    for change in changes:
        for move in change.moves:
            if move.job_id in asked:
                reason = stop_reason(asked[move.job_id])
                path = (change.lifecycle.row(change.path[0].source, Command.CANCEL),)
                moves = [Move(move.job_id, move.attempt, reason=reason)]
                found.append(because(change._replace(path=path, moves=moves), reason))
    return found


def spawn(dialect: Dialect, admission: Admission, frontier: Sequence[End]) -> Script[None]:
    """The jobs that take the place of a node that ran over a list: whoever waits for it waits for all of them."""
    for end in frontier:
        if not end.items:
            continue
        yield from dialect.create([admission.admit(spec) for spec in end.items])
        [(_, name, _)] = yield Query("node_of", {"job_id": end.job_id})
        children = [row[0] for row in (yield Query("node_children", {"job_id": end.job_id}))]
        nodes = [
            NodeColumns(spec.id, end.flow_id, name, item, JoinKind.ALL.value, 0, 0)
            for item, spec in enumerate(end.items)
        ]
        yield from dialect.add_nodes(nodes, [(spec.id, child) for spec in end.items for child in children])
        # As urgent as the node is by now, and so in time.
        items = {"job_id": end.job_id, "items": dialect.array([spec.id for spec in end.items])}
        [(turn,)] = yield Query("turn_of", {"id": end.job_id})
        yield from move_up(dialect, {spec.id: turn for spec in end.items})
        yield Query("share_deadlines", items)
