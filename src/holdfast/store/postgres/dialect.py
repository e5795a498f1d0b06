"""PostgreSQL's hot statements: each is one statement over whole columns, its events included."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from holdfast.kernel.job import Job, text_digest
from holdfast.kernel.lifecycle import Lifecycle, Transition
from holdfast.kernel.log import SPAN, LogRow, path_text
from holdfast.kernel.move import Change, Effect, Move
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
from holdfast.store.postgres.hands import (
    AT,
    ATTEMPT,
    DUE,
    EQUALS,
    LIFECYCLE,
    MOVED,
    OWNER,
    READY,
    ROW,
    SIZE,
    STATE,
    TOKEN,
    Hands,
)
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


def _masks(rows: Sequence[Any]) -> dict[str, Any]:
    """Which bits of which leases these jobs are."""
    masks: dict[int, list[str]] = {}
    for row in rows:
        token, at = row[TOKEN], row[AT]
        mask = masks.get(token)
        if mask is None:
            mask = masks[token] = ["0"] * row[SIZE]
        mask[at] = "1"
    tokens = sorted(masks)
    return {"tokens": tokens, "masks": ["".join(masks[token]) for token in tokens]}


class PostgresDialect:
    name = "postgres"

    def __init__(self, clock: Callable[[], int] | None = None) -> None:
        self._clock = clock
        self._hands = Hands()

    def now(self) -> int | None:
        return self._clock() if self._clock else None

    def is_missing_table(self, error: Exception) -> bool:
        return getattr(error, "sqlstate", None) == "42P01"

    def row(self, row: Sequence[Any]) -> LogRow:
        return LogRow._make(row)

    def bytes_of(self, value: Any) -> bytes | None:
        return value  # type: ignore[no-any-return] # the driver makes them

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
        all_ready = all(job.ready for job in jobs)
        params = {"now_ms": self.now(), "all_ready": all_ready, **dict(zip(NewJob._fields, columns, strict=True))}
        yield Query("submit", params)

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
                "limit": min(limit, SPAN // effect.steps),
                "target": effect.target,
                "steps": effect.steps,
                "tries": effect.tries_delta,
                "starts": effect.starts,
                "stale_after_ms": effect.stale_after_ms,
                "owner": owner,
                "path": path_text(path),
            },
        )
        return self._hands.take(rows)

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
        params = {"now_ms": self.now(), "queues": list(queues), "lifecycle": table.name, "source": effect.source}
        found = yield Query("lapsed_members", params | {"crash_budget": budget, "limit": limit})
        moves = {row[0]: Move(row[0], row[ATTEMPT], reason="lease_expired") for row in found}
        change = Change(table, (row,), owner, list(moves.values()))
        if not found:
            return []
        taken = yield from self._move(change, effect, [(row, moves[row[0]]) for row in found], heir=owner)
        return self._hands.take((yield Query("places", {"ids": list(taken)})))

    def at_once(self, change: Change, effect: Effect) -> Script[dict[str, int]] | None:
        if change.owner is None or len(change.moves) * effect.steps > SPAN:
            return None
        known = self._hands.of(change, effect.source)
        # Who stays under a lease takes a new one, and each of these is a statement of its own.
        alone = not effect.keeps_lease or len({row[TOKEN] for row, _ in known}) == 1
        return self._move(change, effect, known) if alone and len(known) == len(change.moves) else None

    def apply(self, change: Change, effect: Effect, flows: dict[str, str] | None = None) -> Script[dict[str, int]]:
        if flows is not None:
            rows = yield Query("lock_flows", {"ids": sorted(move.job_id for move in change.moves)})
            flows.update(rows)
        moved: dict[str, int] = {}
        if change.owner is not None and (known := self._hands.of(change, effect.source)):
            moved = yield from self._move(change, effect, known)
            if len(moved) == len(change.moves):
                return moved
        left = {move.job_id: move for move in reversed(change.moves) if move.job_id not in moved}
        groups: dict[Any, list[tuple[Any, Move]]] = {}
        for row in (yield Query("places", {"ids": sorted(left)})):
            move = left[row[0]]
            if row[ATTEMPT] != move.attempt or row[STATE] != effect.source or row[LIFECYCLE] != change.lifecycle.name:
                continue
            if change.owner is not None and row[OWNER] != change.owner:
                continue
            token = row[TOKEN] if effect.keeps_lease else row[TOKEN] is None
            groups.setdefault((row[READY], token), []).append((row, move))
        for members in groups.values():
            moved |= yield from self._move(change, effect, members)
        return moved

    def _move(
        self, change: Change, effect: Effect, members: list[tuple[Any, Move]], heir: str | None = None
    ) -> Script[dict[str, int]]:
        """Move jobs that all stand in the same kind of place."""
        most = SPAN // effect.steps
        tokens = {row[TOKEN] for row, _ in members} if effect.keeps_lease else set()
        if len(members) > most or len(tokens) > 1:
            moved: dict[str, int] = {}
            for token in tokens or [None]:
                some = [member for member in members if token is None or member[0][TOKEN] == token]
                for at in range(0, len(some), most):
                    moved |= yield from self._move(change, effect, some[at : at + most], heir)
            return moved
        first = members[0][0]
        place = "ready" if first[READY] else "rest" if first[TOKEN] is None else "lease"
        goal = "ready" if effect.ready else "lease" if effect.keeps_lease else "rest"
        rows = [row for row, _ in members]
        columns = dict(zip(MOVED, zip(*[ROW(row) for row in rows], strict=True), strict=True))
        moves = dict(zip(Move._fields, zip(*[move for _, move in members], strict=True), strict=True))
        outcomes = _column(moves["outcome"])
        params = {
            "now_ms": self.now(),
            "lifecycle": change.lifecycle.name,
            **of_effect(effect),
            "lost": effect.losses,
            "owner": change.owner,
            "heir": heir,
            "actor": change.actor,
            "path": path_text(change.path),
            **{name: _column(values, name in EQUALS) for name, values in columns.items()},
            "delay_ms": moves["delay_ms"] if effect.ready else None,
            "reason": _column(moves["reason"]),
            "cause": _column(moves["cause"]),
            "payload": _column(moves["payload"]),
            "outcome": outcomes,
            "digest": outcomes and [text_digest(outcome) for outcome in outcomes],
        }
        if place == "ready":
            params["due_at_ms"] = [row[DUE] for row in rows]
        if place == "lease":
            params |= _masks(rows)
        answer = yield Query(f"apply@{place}+{goal}", params)
        if place == "lease":
            self._hands.drop(row[0] for row in rows)
        return {row[0]: row[1] for row in answer}

    def renew(self, owner: str, leases: Sequence[Lease], beat: bool, ttl_ms: int) -> Script[set[str]]:
        params = {"now_ms": self.now(), "owner": owner, "beat": beat, "ttl_ms": ttl_ms, "ends": False}
        rows = yield Query("renew", params | self.leases(leases))
        return {row[0] for row in rows}

    def let_go(self, owner: str, leases: Sequence[Lease]) -> Script[None]:
        params = {"now_ms": self.now(), "owner": owner, "beat": False, "ttl_ms": 0, "ends": True}
        yield Query("renew", params | self.leases(leases))

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

    def turns(self, turns: Mapping[str, int]) -> dict[str, Any]:
        ids = sorted(turns)
        return {"job_id": ids, "turn": [turns[job_id] for job_id in ids]}

    def erased(self, row: LogRow) -> dict[str, Any]:
        return row._asdict()
