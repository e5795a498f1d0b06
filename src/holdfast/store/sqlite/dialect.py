"""SQLite's hot statements: rows in, rows out, the events of a change right behind it in the same transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from holdfast.kernel.job import Job, text_digest
from holdfast.kernel.lifecycle import Transition
from holdfast.kernel.move import Change, Effect
from holdfast.store.dialect import (
    ClaimFrom,
    EndedNode,
    FlowCount,
    Lane,
    NewJob,
    NodeColumns,
    Tallied,
    Waiting,
    of_effect,
)
from holdfast.store.port import FlowRow, Lease, Signal
from holdfast.store.script import Many, Query, Script

NOTHING = (None, None, None)
"""A move that says nothing of its own: no cause, no payload, no outcome."""


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
        for alike in groups.values():
            yield Query("submit", _shared(alike[0], now) | {"jobs": json.dumps([(j.id, j.payload) for j in alike])})
            first = alike[0]
            shared = (first.event_type, first.state, now, first.actor)
            if first[25:28] == NOTHING:
                yield Many("log_submitted", [(job.id, *shared, job.digest) for job in alike])
            else:
                yield Many("log_events", [_first_event(job, now) for job in alike])

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
        rows = yield Query(
            "claim" if lane.up_to is None else "claim_turns",
            {
                "now_ms": self._clock(),
                "queue": lane.queue,
                "lifecycle": lane.lifecycle,
                "source": lane.state,
                "turn": lane.turn if lane.up_to is None else lane.up_to,
                "gate": lane.gate,
                "limit": limit,
                "target": effect.target,
                "steps": effect.steps,
                "tries": effect.tries_delta,
                "starts": effect.starts,
                "stale_after_ms": effect.stale_after_ms,
                "owner": owner,
            },
        )
        yield _log_path(rows, path, owner, None)
        return [Job._make(row[1:]) for row in rows]

    def take_over(
        self,
        row: Transition,
        effect: Effect,
        lifecycle: str,
        queues: Sequence[str],
        budget: int,
        limit: int,
        owner: str,
    ) -> Script[list[Job]]:
        rows = yield Query(
            "take_over",
            {
                "now_ms": self._clock(),
                "queues": self.array(queues),
                "lifecycle": lifecycle,
                "source": effect.source,
                "target": effect.target,
                "tries": effect.tries_delta,
                "losses": effect.losses,
                "starts": effect.starts,
                "stale_after_ms": effect.stale_after_ms,
                "crash_budget": budget,
                "limit": limit,
                "owner": owner,
            },
        )
        yield _log_path(rows, (row,), owner, "lease_expired")
        return [Job._make(row[1:]) for row in rows]

    def apply(self, change: Change, effect: Effect, flows: dict[str, str] | None = None) -> Script[dict[str, int]]:
        moves = [(m.job_id, m.attempt, m.delay_ms, m.outcome) for m in change.moves]
        rows = yield Query(
            "apply",
            {
                "now_ms": self._clock(),
                "lifecycle": change.lifecycle.name,
                **of_effect(effect),
                "owner": change.owner,
                "moves": json.dumps(moves),
                "in_flows": flows is not None,
            },
        )
        if flows is not None:
            flows.update((row[1], row[5]) for row in rows if row[5] is not None)
        alike = (change.moves[0].reason, *NOTHING)
        if effect.steps <= 2 and all(move[3:7] == alike for move in change.moves):
            yield _log_path(rows, change.path, change.actor, change.moves[0].reason)
        elif rows:
            yield Many("log_events", list(_change_events(change, effect, rows)))
        return {row[1]: row[2] for row in rows}

    def renew(self, owner: str, leases: Sequence[Lease], beat: bool, ttl_ms: int) -> Script[set[str]]:
        now = self._clock()
        rows = yield Query("renew", {"now_ms": now, "owner": owner, **self.leases(leases)})
        if beat and rows:
            signal = ("job_lease_renewed", now, owner, None, now + ttl_ms)
            yield Many("signal", [(*row, *signal) for row in rows])
        return {row[0] for row in rows}

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

    def promote(self, now_ms: int, limit: int) -> Script[int]:
        rows = yield Query("promote", {"now_ms": now_ms, "limit": limit})
        yield Query("spend_deadlines", {"now_ms": now_ms, "limit": limit})
        return len(rows)


def _shared(job: NewJob, now: int) -> dict[str, Any]:
    """The columns that jobs submitted alike have in common."""
    shared = job._asdict()
    shared["now_ms"] = now
    shared["due_at_ms"] = now + job.delay_ms if job.due_at_ms is None else job.due_at_ms
    shared["expires_at_ms"] = None if job.expire_after_ms is None else now + job.expire_after_ms
    return shared


def _first_event(job: NewJob, now: int) -> tuple[Any, ...]:
    return (
        job.id,
        1,
        job.event_type,
        None,
        job.state,
        now,
        job.actor,
        1,
        job.reason,
        job.cause,
        job.event_payload,
        job.digest,
    )


def _log_path(rows: Sequence[Any], path: tuple[Transition, ...], actor: str, reason: str | None) -> Query:
    """Events that say no more than their path does: written by one statement from the rows that were moved."""
    first, last = path[0], path[-1]
    return Query(
        "log_path",
        {
            "rows": json.dumps([row[0] for row in rows]),
            "steps": len(path),
            "actor": actor,
            "reason": reason,
            "first_type": first.event,
            "first_from": first.source.value,
            "first_to": first.target.value,
            "opens_later": int(len(path) > 1 and last.opens_attempt),
            "last_type": last.event,
            "last_from": last.source.value,
            "last_to": last.target.value,
        },
    )


def _change_events(change: Change, effect: Effect, rows: Sequence[Any]) -> Iterable[tuple[Any, ...]]:
    moves = {move.job_id: move for move in change.moves}
    actor, steps = change.actor, effect.steps
    for n, step in enumerate(change.path, 1):
        event, source, target = step.event, step.source.value, step.target.value
        opens_later = sum(later.opens_attempt for later in change.path[n:])
        last = n == steps
        for _, job_id, version, attempt, changed_at_ms, _ in rows:
            move = moves[job_id]
            yield (
                job_id,
                version - steps + n,
                event,
                source,
                target,
                changed_at_ms,
                actor,
                attempt - opens_later,
                move.reason,
                move.cause,
                move.payload if last else None,
                text_digest(move.outcome) if last else None,
            )
