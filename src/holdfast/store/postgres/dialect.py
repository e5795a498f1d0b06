"""PostgreSQL's hot statements: each is one statement over whole columns, its events included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from holdfast.store.script import Query, Script

ALIKE = {"lifecycle", "task", "queue", "priority", "state", "ready", "max_tries", "lease_ms", "delay_ms"}
ALIKE |= {"turn", "gate", "event_type", "actor"}
"""Columns of new jobs that are never null and mostly equal: the statement repeats their first value."""


def _column(values: Sequence[Any], alike: bool = False) -> Sequence[Any] | None:
    """A column of nothing but nulls is sent as null, one of equals as its first value: unnest pads the rest."""
    first = values[0]
    if first is None:
        return None if values.count(None) == len(values) else values
    return values[:1] if alike and values.count(first) == len(values) else values


def _path(path: tuple[Transition, ...]) -> dict[str, Any]:
    return {
        "types": [row.event for row in path],
        "froms": [row.source.value for row in path],
        "tos": [row.target.value for row in path],
    }


class PostgresDialect:
    name = "postgres"

    def __init__(self, clock: Callable[[], int] | None = None) -> None:
        self._clock = clock

    def now(self) -> int | None:
        return self._clock() if self._clock else None

    def is_missing_table(self, error: Exception) -> bool:
        return getattr(error, "sqlstate", None) == "42P01"

    def array(self, values: Sequence[Any]) -> Any:
        return list(values)

    def leases(self, leases: Sequence[Lease]) -> dict[str, Any]:
        # In the order in which all writers take jobs: two of them cannot wait for each other.
        ids, attempts = zip(*sorted(leases), strict=True)
        return {"job_id": ids, "attempt": attempts}

    def signal_row(self, signal: Signal, ttl_ms: int) -> tuple[Any, ...]:
        return (*signal, ttl_ms, self.now())

    def create(self, jobs: Sequence[NewJob]) -> Script[None]:
        if len(jobs) == 1:
            yield Query("submit_one", {"now_ms": self.now(), **jobs[0]._asdict()})
            return
        columns = [
            _column(values, name in ALIKE) for name, values in zip(NewJob._fields, zip(*jobs, strict=True), strict=True)
        ]
        yield Query("submit", {"now_ms": self.now(), **dict(zip(NewJob._fields, columns, strict=True))})

    def hold_keys(
        self, keys: Sequence[tuple[str, str, str]], hold: str, window_ms: int | None
    ) -> Script[dict[tuple[str, str], str]]:
        scopes, names, ids = zip(*keys, strict=True)
        rows = yield Query(
            "hold_keys",
            {
                "now_ms": self.now(),
                "scope": scopes,
                "key": names,
                "job_id": ids,
                "hold": hold,
                "window_ms": window_ms,
            },
        )
        return {(scope, key): holder for scope, key, holder in rows}

    def claim(
        self, lane: Lane, claim_from: ClaimFrom, path: tuple[Transition, ...], effect: Effect, limit: int, owner: str
    ) -> Script[list[Job]]:
        rows = yield Query(
            "claim" if lane.up_to is None else "claim_turns",
            {
                "now_ms": self.now(),
                "queue": lane.queue,
                "lifecycle": lane.lifecycle,
                "source": lane.state,
                "turn": lane.turn if lane.up_to is None else lane.up_to,
                "gate": lane.gate,
                "floor_due_ms": claim_from.due_at_ms,
                "floor_id": claim_from.id,
                "limit": limit,
                "target": effect.target,
                "steps": effect.steps,
                "tries": effect.tries_delta,
                "starts": effect.starts,
                "stale_after_ms": effect.stale_after_ms,
                "owner": owner,
                **_path(path),
            },
        )
        return [Job._make(row) for row in rows]

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
                "now_ms": self.now(),
                "queues": list(queues),
                "lifecycle": lifecycle,
                "source": effect.source,
                "target": effect.target,
                "type": row.event,
                "tries": effect.tries_delta,
                "losses": effect.losses,
                "starts": effect.starts,
                "stale_after_ms": effect.stale_after_ms,
                "crash_budget": budget,
                "limit": limit,
                "owner": owner,
            },
        )
        return [Job._make(row) for row in rows]

    def apply(self, change: Change, effect: Effect, flows: dict[str, str] | None = None) -> Script[dict[str, int]]:
        ids, attempts, delays, reasons, causes, payloads, raw_outcomes, _, _ = zip(*change.moves, strict=True)
        outcomes = _column(raw_outcomes)
        later = [sum(row.opens_attempt for row in change.path[i + 1 :]) for i in range(effect.steps)]
        rows = yield Query(
            "apply",
            {
                "now_ms": self.now(),
                "lifecycle": change.lifecycle.name,
                **of_effect(effect),
                "owner": change.owner,
                "actor": change.actor,
                "job_id": ids,
                "attempt": attempts,
                "delay_ms": delays if effect.ready else None,
                "reason": _column(reasons),
                "cause": _column(causes),
                "payload": _column(payloads),
                "outcome": outcomes,
                "digest": outcomes and [text_digest(outcome) for outcome in outcomes],
                "opens_later": later,
                "in_flows": flows is not None,
                **_path(change.path),
            },
        )
        if flows is not None:
            flows.update((job_id, flow_id) for job_id, _, flow_id in rows if flow_id is not None)
        return {job_id: version for job_id, version, _ in rows}

    def renew(self, owner: str, leases: Sequence[Lease], beat: bool, ttl_ms: int) -> Script[set[str]]:
        params = {"now_ms": self.now(), "owner": owner, "beat": beat, "ttl_ms": ttl_ms}
        rows = yield Query("renew", params | self.leases(leases))
        return {row[0] for row in rows}

    def add_nodes(self, nodes: Sequence[NodeColumns], edges: Sequence[tuple[str, str]]) -> Script[None]:
        columns = map(_column, zip(*nodes, strict=True))
        yield Query("add_nodes", dict(zip(NodeColumns._fields, columns, strict=True)))
        if edges:
            parents, children = zip(*edges, strict=True)
            yield Query("add_edges", {"parent_id": parents, "child_id": children})

    def tally(self, ended: Sequence[EndedNode], counts: Sequence[FlowCount]) -> Script[Tallied]:
        flow, more, over, failed, cancelled = zip(*counts, strict=True)
        rows = yield Query(
            "tally",
            {
                "now_ms": self.now(),
                "parent": [end.job_id for end in ended],
                "edge": [end.edge for end in ended],
                "more": [end.more for end in ended],
                "cut_parent": [end.job_id for end in ended for _ in end.not_taken],
                "cut_name": [name for end in ended for name in end.not_taken],
                "flow": flow,
                "flow_more": more,
                "flow_ended": over,
                "flow_failed": failed,
                "flow_cancelled": cancelled,
            },
        )
        waiting = [Waiting(*row) for row in rows if row[0] is not None]
        return Tallied(waiting, [FlowRow(*row[1:7]) for row in rows if row[0] is None])

    def promote(self, now_ms: int, limit: int) -> Script[int]:
        return len((yield Query("promote", {"now_ms": now_ms, "limit": limit})))
