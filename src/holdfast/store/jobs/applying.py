"""Apply: a change moves the jobs that stand where its path begins; the rest is refused, with the reason."""

from __future__ import annotations

import json
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from holdfast.kernel.move import Change, effect_of
from holdfast.kernel.state import OVER, Canonical
from holdfast.store.dialect import Dialect
from holdfast.store.graph.advancing import advance, ends, lock
from holdfast.store.graph.mapping import asked_to_stop, spreads
from holdfast.store.jobs.admission import Admission
from holdfast.store.port import Applied, Refusal
from holdfast.store.script import Many, Query, Script

OP_TTL_MS = 86_400_000


def ends_nodes(change: Change) -> bool:
    """Whether a change ends jobs that others may wait for."""
    return change.lifecycle.in_graphs and change.path[-1].target.rank >= OVER


def apply(
    dialect: Dialect, changes: Sequence[Change], admission: Admission, followed: list[Change] | None = None
) -> Script[Applied]:
    """`followed` gets what became of other jobs by it."""
    versions: dict[str, int] = {}
    refused: list[Refusal] = []
    followed = [] if followed is None else followed
    ending = [change for change in changes if ends_nodes(change)]
    maps = any(map(spreads, ending))
    # Flows before jobs, all of them at once: a change that is alone locks them with its own statement. So do several
    # that end nobody: each is in the order of its jobs, all together are not, and whoever stops a flow takes them all.
    alone = len(changes) == 1 and not maps
    flows: dict[str, str] = {}
    if not alone:
        nodes = [move.job_id for change in changes if change.lifecycle.in_graphs for move in change.moves]
        flows = yield from lock(dialect, nodes)
    if maps:
        changes = yield from _heed(dialect, changes, admission, flows, refused, followed)
    for asked in changes:
        # One order for all writers: two changes that share jobs cannot wait for each other.
        asked.moves.sort(key=itemgetter(0))
        effect = effect_of(asked.lifecycle, asked.path)
        change = (yield from _with_keys(dialect, asked, refused)) if effect.reopens and asked.moves else asked
        if not change.moves:
            continue
        moved = yield from dialect.apply(change, effect, flows if alone and ending else None)
        versions.update(moved)
        if len(moved) < len(change.moves):
            refused += yield from _why(dialect, change, moved)
        if flows and ends_nodes(change) and (ended := ends(change, moved, flows)):
            yield from advance(dialect, admission, change.lifecycle, ended, followed)
        dead = [(*move.dead, move.job_id) for move in change.moves if move.dead and move.job_id in moved]
        if dead:
            yield Many("bury", dead)
    return Applied(versions, refused)


def _heed(
    dialect: Dialect,
    changes: Sequence[Change],
    admission: Admission,
    flows: dict[str, str],
    refused: list[Refusal],
    followed: list[Change],
) -> Script[list[Change]]:
    """The changes without the nodes that were to spread and were asked to stop: these are cancelled."""
    stopped: set[str] = set()
    for change in (yield from asked_to_stop(dialect, changes)):
        moved = yield from dialect.apply(change, effect_of(change.lifecycle, change.path))
        if moved:
            [move] = change.moves
            stopped.add(move.job_id)
            refused.append(Refusal(move.job_id, "cancelled", Canonical.CANCELLED.value, move.attempt))
            followed.append(change)
            yield from advance(dialect, admission, change.lifecycle, ends(change, moved, flows), followed)
    return [c._replace(moves=[move for move in c.moves if move.job_id not in stopped]) for c in changes]


def _with_keys(dialect: Dialect, change: Change, refused: list[Refusal]) -> Script[Change]:
    """A job that comes back to life takes its key again; one whose key another job has by now stays where it is."""
    ids = dialect.array([move.job_id for move in change.moves])
    rows = yield Query("keys_of", {"ids": ids})
    if not rows:
        return change
    policies = change.lifecycle.policies
    wanted = sorted((scope, key, job_id) for job_id, scope, key in rows)
    held = yield from dialect.hold_keys(wanted, policies.key_hold.value, policies.key_window_ms)
    gone = {job_id for scope, key, job_id in wanted if held[scope, key] != job_id}
    refused += [Refusal(job_id, "key") for job_id in sorted(gone)]
    return change._replace(moves=[move for move in change.moves if move.job_id not in gone])


def _why(dialect: Dialect, change: Change, moved: dict[str, int]) -> Script[list[Refusal]]:
    left = [move for move in change.moves if move.job_id not in moved]
    rows = yield Query("stand", {"ids": dialect.array([move.job_id for move in left]), "now_ms": dialect.now()})
    found: dict[str, Any] = {row[0]: row for row in rows}
    source = change.path[0].source
    refusals = []
    for move in left:
        if (row := found.get(move.job_id)) is None:
            refusals.append(Refusal(move.job_id, "missing"))
            continue
        _, lifecycle, state, attempt, owner, expired = row
        if attempt != move.attempt:
            why = "stale"
        elif state != source or lifecycle != change.lifecycle.name:
            why = "state"
        elif owner != change.owner:
            why = "owner"
        elif expired:
            why = "lease"
        else:
            why = "state"
        refusals.append(Refusal(move.job_id, why, state, attempt))
    return refusals


def once(dialect: Dialect, op_id: str, script: Script[Any], pack: Any, unpack: Any) -> Script[Any]:
    """Run a script at most once under an op_id; a repeat is answered as the first was."""
    rows = yield Query("op_take", {"op_id": op_id, "now_ms": dialect.now(), "ttl_ms": OP_TTL_MS})
    if not rows:
        script.close()
        [(answer,)] = yield Query("op_answer", {"op_id": op_id})
        return unpack(json.loads(answer))
    result = yield from script
    yield Query("op_keep", {"op_id": op_id, "answer": json.dumps(pack(result))})
    return result


def pack_applied(applied: Applied) -> Any:
    return [applied.versions, applied.refused]


def unpack_applied(data: Any) -> Applied:
    return Applied(data[0], [Refusal(*row) for row in data[1]])
