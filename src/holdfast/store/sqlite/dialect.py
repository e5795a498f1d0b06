"""SQLite's hot statements: rows in, rows out, the events of a change right behind it in the same transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from holdfast.kernel.job import Job, text_digest
from holdfast.kernel.lifecycle import Lifecycle, Transition
from holdfast.kernel.log import SPAN, LogRow, path_text
from holdfast.kernel.move import Change, Effect, Move
from holdfast.kernel.state import LEASED
from holdfast.store.dialect import (
    ClaimFrom,
    EndedNode,
    FlowCount,
    Lane,
    NewJob,
    NodeColumns,
    Tallied,
    Waiting,
)
from holdfast.store.port import FlowRow, Lease, Signal
from holdfast.store.script import Many, Query, Script

FIELDS = len(Job._fields)
PREV, MOVED_TO, TURN = range(FIELDS, FIELDS + 3)
"""Where a row that was claimed goes on behind the fields of a job."""

ATTEMPT, VERSION, DUE, CHANGED = map(Job._fields.index, ("attempt", "version", "due_at_ms", "changed_at_ms"))
_HELD = ("id", "attempt", "version", "tries", "losses", "due_at_ms", "started_at_ms", "expires_at_ms", "outcome")
HELD = itemgetter(*(MOVED_TO if name == "due_at_ms" else Job._fields.index(name) for name in _HELD))
UNTIL = itemgetter(*map(Job._fields.index, ("lease_until_ms", "lease_ms")))


ALONE: Mapping[str, Sequence[Any]] = {"[null]": (None,), "[1]": (1,)}
"""Most lists of a first event."""


class SqliteDialect:
    name = "sqlite"

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock

    def now(self) -> int:
        return self._clock()

    def is_missing_table(self, error: Exception) -> bool:
        return isinstance(error, sqlite3.OperationalError) and "no such table" in str(error)

    def array(self, values: Sequence[Any]) -> Any:
        return json.dumps(list(values))

    def leases(self, leases: Sequence[Lease]) -> dict[str, Any]:
        return {"leases": self.array(leases)}

    def signal_row(self, signal: Signal, ttl_ms: int) -> tuple[Any, ...]:
        now = self._clock()
        return (*signal[:3], now, *signal[3:], now + ttl_ms)

    def create(self, jobs: Sequence[NewJob]) -> Script[None]:
        now = self._clock()
        groups: dict[tuple[Any, ...], list[NewJob]] = {}
        for job in jobs:
            groups.setdefault(job[1:22] + job[23:28], []).append(job)
        [(pos,)] = yield Query("next_pos")
        for alike in groups.values():
            first = alike[0]
            shared = _shared(first, now)
            rows = [(job.id, pos + n * SPAN, job.payload, job.digest, *shared) for n, job in enumerate(alike)]
            yield Many("submit", rows)
            yield Query("stand_ready" if first.ready else "stand_resting", {"first": pos, "last": rows[-1][1]})
            pos = rows[-1][1] + SPAN

    def hold_keys(
        self, keys: Sequence[tuple[str, str, str]], hold: str, window_ms: int | None
    ) -> Script[dict[tuple[str, str], str]]:
        now = self._clock()
        held = {}
        for scope, key, job_id in keys:
            rows = yield Query(
                "hold_key",
                {
                    "now_ms": now,
                    "scope": scope,
                    "key": key,
                    "job_id": job_id,
                    "hold": hold,
                    "window_ms": window_ms,
                },
            )
            held[scope, key] = rows[0][2]
        return held

    def claim(
        self, lane: Lane, claim_from: ClaimFrom, path: tuple[Transition, ...], effect: Effect, limit: int, owner: str
    ) -> Script[list[Job]]:
        now = self._clock()
        params = {
            "now_ms": now,
            "queue": lane.queue,
            "lifecycle": lane.lifecycle,
            "source": lane.state,
            "turn": lane.turn if lane.up_to is None else lane.up_to,
            "gate": lane.gate,
            "limit": min(limit, SPAN // effect.steps),
            "target": effect.target,
            "steps": effect.steps,
            "tries": effect.tries_delta,
            "starts": effect.starts,
            "stale_after_ms": effect.stale_after_ms,
            "owner": owner,
        }
        statement = "claim" if lane.up_to is None else "claim_turns"
        rows = yield Query(statement, params)
        if not rows:
            return []
        for last in {row[TURN]: row for row in rows}.values():
            yield Query("take", params | {"turn": last[TURN], "due_at_ms": last[DUE], "id": last[0]})
        [(pos,)] = yield Query("next_pos")
        same = (lane.lifecycle, effect.target)
        held = [(*HELD(row), None, lane.queue, lane.gate, owner, *UNTIL(row), *same, row[CHANGED], pos) for row in rows]
        yield Many("hold", held)
        members = [(row[0], row[PREV], row[ATTEMPT], row[VERSION], row[CHANGED]) for row in rows]
        yield _log(pos, lane.lifecycle, path, now, owner, members)
        return [Job._make(row[:FIELDS]) for row in rows]

    def take_over(
        self,
        row: Transition,
        effect: Effect,
        table: Lifecycle,
        queues: Sequence[str],
        budget: int,
        limit: int,
        owner: str,
    ) -> Script[list[Job]]:
        params = {
            "now_ms": self._clock(),
            "queues": self.array(queues),
            "lifecycle": table.name,
            "source": effect.source,
            "crash_budget": budget,
            "limit": limit,
        }
        found = yield Query("lapsed_members", params)
        if not found:
            return []
        moves = [Move(job_id, attempt, reason="lease_expired") for job_id, attempt in found]
        taken = yield from self._move(Change(table, (row,), owner, moves), effect, heir=owner)
        return [Job._make(row) for row in (yield Query("get_many", {"ids": self.array(list(taken))}))]

    def at_once(self, change: Change, effect: Effect) -> Script[dict[str, int]] | None:
        return None

    def apply(self, change: Change, effect: Effect, flows: dict[str, str] | None = None) -> Script[dict[str, int]]:
        if flows is not None:
            ids = self.array(sorted(move.job_id for move in change.moves))
            flows.update((yield Query("lock_flows", {"ids": ids})))
        return (yield from self._move(change, effect))

    def _move(self, change: Change, effect: Effect, heir: str | None = None) -> Script[dict[str, int]]:
        """Jobs leave the place where the path begins, and enter the one where it ends."""
        most = SPAN // effect.steps
        if len(change.moves) > most:
            moved: dict[str, int] = {}
            for at in range(0, len(change.moves), most):
                moved |= yield from self._move(change._replace(moves=change.moves[at : at + most]), effect, heir)
            return moved
        now, source = self._clock(), change.path[0].source
        place = "ready" if source.value in change.lifecycle.claimable else "lease" if source in LEASED else "rest"
        if change.owner is not None and place != "lease":
            return {}
        params = {
            "now_ms": now,
            "lifecycle": change.lifecycle.name,
            "source": effect.source,
            "owner": change.owner,
            "heir": heir,
            "moves": json.dumps([(move.job_id, move.attempt) for move in change.moves]),
        }
        rows = [Left(*row) for row in (yield Query(f"leave_{place}", params))]
        if not rows:
            return {}
        moves = {move.job_id: move for move in reversed(change.moves)}
        [(pos,)] = yield Query("next_pos")

        def at_last(row: Left) -> tuple[str, int, int]:
            return effect.target, row.changed_at_ms, pos

        came = [_came(row, moves[row.id], effect, now) for row in rows]
        if effect.ready:
            yield Many("ready", [(effect.target, *READY(row), *SINCE(row), pos, row.outcome, row.id) for row in came])
        elif effect.keeps_lease:
            held = [
                (*KEPT(row), row.asked, row.queue, row.gate, *_lease(row, heir), change.lifecycle.name, *at_last(row))
                for row in came
            ]
            yield Many("hold", held)
        else:
            yield Many("rest", [(*KEPT(row), row.finished_at_ms, row.outcome_digest, *at_last(row)) for row in came])
        members = [(row.id, row.pos, row.attempt, row.version, row.changed_at_ms) for row in came]
        done = [moves[row.id] for row in rows]
        yield _log(pos, change.lifecycle.name, change.path, now, change.actor, members, done)
        return {row.id: row.version for row in came}

    def renew(self, owner: str, leases: Sequence[Lease], beat: bool, ttl_ms: int) -> Script[set[str]]:
        now = self._clock()
        rows = yield Query("renew", {"now_ms": now, "owner": owner, **self.leases(leases)})
        if beat and rows:
            signal = ("job_lease_renewed", now, owner, None, now + ttl_ms)
            yield Many("signal", [(*row, *signal) for row in rows])
        return {row[0] for row in rows}

    def let_go(self, owner: str, leases: Sequence[Lease]) -> Script[None]:
        yield Query("let_go", {"now_ms": self._clock(), "owner": owner, **self.leases(leases)})

    def add_nodes(self, nodes: Sequence[NodeColumns], edges: Sequence[tuple[str, str]]) -> Script[None]:
        yield Many("add_node", nodes)
        if edges:
            yield Many("add_edge", edges)

    def tally(self, ended: Sequence[EndedNode], counts: Sequence[FlowCount]) -> Script[Tallied]:
        ends = json.dumps([(end.job_id, end.edge, end.more) for end in ended])
        cuts = json.dumps([(end.job_id, name) for end in ended for name in end.not_taken])
        rows = yield Query("tally", {"ended": ends, "cuts": cuts, "now_ms": self._clock()})
        counted = yield Query("count_flows", {"flows": json.dumps(counts)})
        return Tallied([Waiting(*row) for row in rows], [FlowRow(*row) for row in counted])

    def turns(self, turns: Mapping[str, int]) -> dict[str, Any]:
        return {"turns": json.dumps(list(turns.items()))}

    def row(self, row: Sequence[Any]) -> LogRow:
        lists: list[Any] = [None if text is None else ALONE.get(text) or json.loads(text) for text in row[5:15]]
        for n in (8, 9):
            lists[n] = None if lists[n] is None else [self.bytes_of(digest) for digest in lists[n]]
        return LogRow._make((*row[:5], *lists, row[15]))

    def erased(self, row: LogRow) -> dict[str, Any]:
        lists = {name: _text(getattr(row, name)) for name in LogRow._fields[5:15]}
        return {"pos": row.pos, **lists}

    def bytes_of(self, value: Any) -> bytes | None:
        return value and bytes.fromhex(value)


class Left(NamedTuple):
    """A job that has left a place."""

    id: str
    attempt: int
    version: int
    tries: int
    losses: int
    due_at_ms: int | None
    changed_at_ms: int
    started_at_ms: int | None
    finished_at_ms: int | None
    expires_at_ms: int | None
    pos: int
    outcome: str | None
    outcome_digest: bytes | None
    asked: str | None = None
    queue: str = ""
    gate: str = ""
    owner: str = ""
    until_ms: int = 0
    lease_ms: int = 0


KEPT = itemgetter(
    *map(
        Left._fields.index,
        ("id", "attempt", "version", "tries", "losses", "due_at_ms", "started_at_ms", "expires_at_ms", "outcome"),
    )
)
READY = itemgetter(*map(Left._fields.index, ("due_at_ms", "attempt", "version", "tries", "losses")))
SINCE = itemgetter(*map(Left._fields.index, ("changed_at_ms", "started_at_ms", "expires_at_ms")))


def _came(row: Left, move: Move, effect: Effect, now: int) -> Left:
    """A job as it enters the place where a path ends. It never goes back in time, whatever the clock does."""
    at = max(now, row.changed_at_ms)
    expires = row.expires_at_ms
    if effect.reopens:
        # The time that a job lay ended, and was brought back from, does not count against its expiry.
        expires = None if expires is None or row.finished_at_ms is None else expires + at - row.finished_at_ms
    elif effect.stale_after_ms is not None:
        expires = at + (effect.stale_after_ms if expires is None else expires - row.changed_at_ms)
    kept = move.outcome is None and not effect.finishes
    return Left(
        row.id,
        row.attempt + effect.opens,
        row.version + effect.steps,
        0 if effect.tries_reset else row.tries + effect.tries_delta,
        row.losses + effect.losses,
        at + move.delay_ms if effect.ready else row.due_at_ms,
        at,
        at if effect.starts else row.started_at_ms,
        at if effect.finishes else None if effect.reopens else row.finished_at_ms,
        expires,
        row.pos,
        row.outcome if kept else move.outcome,
        row.outcome_digest if kept else None,
        *row[13:],
    )


def _lease(row: Left, heir: str | None) -> tuple[str, int, int]:
    if heir is None:
        return row.owner, row.until_ms, row.lease_ms
    return heir, row.changed_at_ms + row.lease_ms, row.lease_ms


def _text(values: Sequence[Any] | None) -> str | None:
    """A list of a row; bytes are written as digits."""
    if values is None:
        return None
    return json.dumps([value.hex() if isinstance(value, bytes) else value for value in values], separators=(",", ":"))


def _unless_none(values: Sequence[Any]) -> str | None:
    return None if values.count(None) == len(values) else _text(values)


def _log(
    pos: int,
    lifecycle: str,
    path: tuple[Transition, ...],
    at_ms: int,
    actor: str,
    members: Sequence[tuple[str, int, int, int, int]],
    moves: Sequence[Move] = (),
) -> Query:
    """The row of the log for what jobs have just done."""
    ids, prevs, attempts, versions, times = zip(*members, strict=True)
    return Query(
        "log",
        {
            "pos": pos,
            "lifecycle": lifecycle,
            "path": path_text(path),
            "at_ms": at_ms,
            "times": _text(times) if max(times) > at_ms else None,
            "actor": actor,
            "ids": _text(ids),
            "prevs": _text(prevs),
            "attempts": _text(attempts),
            "versions": _text(versions),
            "reasons": _unless_none([move.reason for move in moves]),
            "causes": _unless_none([move.cause for move in moves]),
            "payloads": _unless_none([move.payload for move in moves]),
            "digests": _unless_none([text_digest(move.outcome) for move in moves]),
        },
    )


def _shared(job: NewJob, now: int) -> tuple[Any, ...]:
    """The columns that jobs submitted alike have in common."""
    return (
        *(job.lifecycle, job.task, job.queue, job.priority, job.state, job.turn, job.gate, job.max_tries, job.lease_ms),
        *(now + job.delay_ms if job.due_at_ms is None else job.due_at_ms, now),
        *(
            None if job.expire_after_ms is None else now + job.expire_after_ms,
            job.keep_until_ms,
            job.key_scope,
            job.key,
        ),
        *(
            job.correlation_id,
            job.trace_id,
            job.parent_id,
            job.tags,
            job.options,
            job.event_type,
            job.actor,
            job.reason,
        ),
        *(job.cause, job.event_payload),
    )
