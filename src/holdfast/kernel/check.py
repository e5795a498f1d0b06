"""The check that runs when a lifecycle is built: a bad table is refused with the path that breaks it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NoReturn

from holdfast.kernel.errors import LifecycleError
from holdfast.kernel.policy import Exhausted, KeyHold, Lost
from holdfast.kernel.state import LEASED, OVER, TERMINAL, Canonical

if TYPE_CHECKING:
    from holdfast.kernel.lifecycle import Lifecycle, Transition

CLAIMING = ("claim", "take_over")
"""The commands that give a job an owner: no other row may enter a leased state from outside."""


def check(table: Lifecycle) -> None:
    """Raise LifecycleError for the first property that does not hold, with its counterexample."""
    for rule in (_names, _rows, _growth, _ends, _leases, _reachable, _can_end, _policies):
        rule(table)


def _fail(table: Lifecycle, rule: str, message: str, path: Iterable[str]) -> NoReturn:
    raise LifecycleError(message, lifecycle=table.name, rule=rule, path=tuple(path))


def _names(table: Lifecycle) -> None:
    declared = [state.canonical for state in table.states]
    for state in declared:
        if declared.count(state) > 1:
            labels = [str(s) for s in table.states if s.canonical == state]
            _fail(table, "state-declared-twice", f"{state} is declared twice", labels)
    for state in table.initial:
        if state not in declared:
            _fail(table, "unknown-state", f"jobs start in {state}, which is not declared", ["submit", state])
    if not table.initial:
        _fail(table, "no-initial-state", "no state for a new job", ["submit"])
    for row in table.transitions:
        for state in (row.source, row.target):
            if state not in declared:
                _fail(table, "unknown-state", f"a row names {state}, which is not declared", [str(row)])


def _rows(table: Lifecycle) -> None:
    seen: dict[tuple[str, str], Transition] = {}
    for row in table.transitions:
        first = seen.setdefault((row.source, row.command), row)
        if first is not row:
            _fail(
                table,
                "ambiguous-command",
                f"{row.command} from {row.source} has two rows",
                [str(first), str(row)],
            )
    first_of: dict[tuple[str, str, str], Transition] = {}
    for row in table.transitions:
        first = first_of.setdefault((row.source, row.target, row.event), row)
        if _effect(first) != _effect(row):
            _fail(
                table,
                "ambiguous-event",
                f"{row.event} from {row.source} to {row.target} does not say which of two rows it was",
                [str(first), str(row)],
            )


def _effect(row: Transition) -> tuple[object, ...]:
    """What a replay must know of a row from its event alone."""
    return row.opens_attempt, row.tries, row.counts_loss, row.command in CLAIMING


def _growth(table: Lifecycle) -> None:
    for row in table.transitions:
        if not row.opens_attempt and row.target.rank <= row.source.rank:
            _fail(
                table,
                "backward-in-attempt",
                f"rank falls from {row.source.rank} to {row.target.rank} without a next attempt",
                [str(row)],
            )


def _ends(table: Lifecycle) -> None:
    for row in table.transitions:
        if row.source.rank < OVER:
            continue
        if row.opens_attempt and not table.policies.resumable:
            _fail(
                table,
                "terminal-left",
                f"{row.source} is terminal, and the policies say that nothing is resumed",
                [str(row)],
            )
        if not row.opens_attempt and row.target.rank <= OVER:
            _fail(table, "terminal-left", f"{row.source} is terminal: only clean-up may follow", [str(row)])


def _leases(table: Lifecycle) -> None:
    for row in table.transitions:
        enters = row.target in LEASED and row.source not in LEASED
        if enters and row.command not in CLAIMING:
            _fail(table, "lease-without-claim", f"{row.command} would run a job without an owner", [str(row)])
        if row.command == "claim" and (row.source in LEASED or row.target not in LEASED):
            _fail(table, "claim-without-lease", "a claim leads from a free state to a leased one", [str(row)])
        if row.command in ("claim", "start") and row.opens_attempt:
            _fail(table, "claim-opens-attempt", "an attempt begins before its claim, not with it", [str(row)])
        if row.command == "take_over" and not (row.source in LEASED and row.target in LEASED and row.opens_attempt):
            _fail(table, "take-over-without-lease", "the next attempt goes on from one that ran", [str(row)])
    commands = {(row.source, row.command) for row in table.transitions}
    way_out = "lose" if table.policies.lost is Lost.NEXT_ATTEMPT else "take_over"
    for state in table.states:
        if state.canonical in LEASED and (state.canonical, way_out) not in commands:
            _fail(
                table,
                "lost-lease-stuck",
                f"a job that loses its lease in {state.canonical} has no {way_out} row",
                [*_path_to(table, state.canonical), "lease expires", "stuck"],
            )


def _search(starts: Iterable[Canonical], step: Callable[[Canonical], Iterable[Canonical]]) -> set[Canonical]:
    found = set(starts)
    queue = deque(found)
    while queue:
        for state in step(queue.popleft()):
            if state not in found:
                found.add(state)
                queue.append(state)
    return found


def _path_to(table: Lifecycle, goal: Canonical) -> list[str]:
    """The shortest way from submit to a state, as words."""
    before: dict[Canonical, Transition | None] = dict.fromkeys(table.initial)
    queue = deque(table.initial)
    while queue and goal not in before:
        state = queue.popleft()
        for row in table.transitions:
            if row.source == state and row.target not in before:
                before[row.target] = row
                queue.append(row.target)
    words: list[str] = []
    at = goal
    while (came := before.get(at)) is not None:
        words.append(str(came))
        at = came.source
    return ["submit", *reversed(words)]


def _reachable(table: Lifecycle) -> None:
    found = _search(table.initial, lambda at: [r.target for r in table.transitions if r.source == at])
    for state in table.states:
        if state.canonical not in found:
            ways = sorted(found, key=lambda s: (s.rank, s))
            path = [*ways, f"never {state.canonical}"]
            _fail(table, "unreachable", f"no row leads to {state.canonical}", path)


def _can_end(table: Lifecycle) -> None:
    over = [state.canonical for state in table.states if state.canonical in TERMINAL]
    ends = _search(over, lambda at: [r.source for r in table.transitions if r.target == at])
    for state in table.states:
        if state.canonical not in ends:
            _fail(
                table,
                "cannot-end",
                f"a job in {state.canonical} can never end",
                [*_path_to(table, state.canonical), f"{state.canonical} for ever"],
            )


def _policies(table: Lifecycle) -> None:
    policies, rows = table.policies, table.transitions
    commands = {row.command for row in rows}

    def contradiction(says: str, but: str) -> NoReturn:
        _fail(table, "policy-contradiction", f"{says}, but {but}", [says, but])

    if policies.retry.max_tries > 1 and "retry" not in commands:
        contradiction(f"retry allows {policies.retry.max_tries} tries", "no row retries")
    if policies.on_exhausted is Exhausted.DEAD_LETTER and "dead_letter" not in commands:
        contradiction("on_exhausted is dead_letter", "no row dead-letters")
    if policies.on_lost_exhausted is Exhausted.DEAD_LETTER and "dead_letter" not in commands:
        contradiction("on_lost_exhausted is dead_letter", "no row dead-letters")
    if policies.resumable and "resume" not in commands:
        contradiction("resumable", "no row resumes")
    if "resume" in commands and not policies.resumable:
        contradiction("a row resumes", "resumable is off")
    if (policies.stale_after_ms or policies.expire_after_ms) and "expire" not in commands:
        contradiction("jobs expire", "no row expires them")
    if policies.key_hold is KeyHold.WINDOW and not policies.key_window_ms:
        contradiction("keys are held for a window", "key_window_ms is not set")
    if policies.key_hold is KeyHold.UNTIL_CLEANED and "cleaned" not in commands:
        contradiction("keys are held until cleaned", "no row cleans")
    beats_ms = 2 * policies.heartbeat_ms
    if policies.lease_ms < beats_ms:
        contradiction(f"a lease lasts {policies.lease_ms} ms", f"two heartbeats take {beats_ms} ms")
    if policies.crash_budget < 1:
        contradiction("crash_budget is below 1", "a first run must be allowed")
