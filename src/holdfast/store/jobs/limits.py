"""Claims behind gates: jobs that share a limit are let through as far as it has room, over all workers together.

A gate's row is locked while its room is worked out, and what runs behind it is counted by a later statement, which
sees all that was committed before the lock was had. So no two claimers ever count the same room. What a job's end frees
needs no bookkeeping: it is no longer counted. Limits come with the jobs: a gate holds what its first waiting job says.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Transition
from holdfast.kernel.limit import NamedLimit, limit_of
from holdfast.kernel.move import Effect
from holdfast.store.dialect import START, Dialect, Lane
from holdfast.store.script import Many, Query, Script

AT_ONCE = 200
"""Gates that one claim looks at; the next one goes on behind them."""

BUSY_S = 0.005
"""When to look again at a gate that another claimer has just locked."""


class Passed(NamedTuple):
    """What a claim behind gates got, where the next one goes on, and when a gate that was shut may open again."""

    jobs: list[Job]
    after: str
    opens_in_s: float | None


def claim_behind(
    dialect: Dialect,
    lane: Lane,
    after: str,
    path: tuple[Transition, ...],
    effect: Effect,
    limit: int,
    owner: str,
) -> Script[Passed]:
    """Claim from the gates of a lane, starting behind one of them."""
    where = {"queue": lane.queue, "lifecycle": lane.lifecycle, "state": lane.state, "turn": lane.turn}
    waiting = yield Query("waiting_gates", {**where, "after": after, "limit": AT_ONCE})
    declared = {name: limit_ for name, options in waiting if options and (limit_ := limit_of(json.loads(options)))}
    names = dialect.array(list(declared))
    yield from _keep(list(declared.values()), (yield Query("gates", {"names": names})))
    locked = yield Query("lock_gates", {"names": names, "now_ms": dialect.now()})
    held: dict[str, int] = dict((yield Query("gates_held", {"names": names})) if locked else ())
    jobs: list[Job] = []
    spent: list[tuple[int, str]] = []
    opens = [BUSY_S] if len(locked) < len(declared) else []
    last = ""
    for name, running, interval_us, burst, due_us, now_ms in locked:
        limit_, now_us, next_us = NamedLimit(name, running, interval_us, burst), now_ms * 1_000, due_us
        room = limit_.room(held.get(name, 0), now_us, next_us)
        wanted = limit - len(jobs) if room is None else min(room, limit - len(jobs))
        if wanted:
            taken = yield from dialect.claim(lane._replace(gate=name), START, path, effect, wanted, owner)
            jobs += taken
            if taken and interval_us is not None:
                next_us = limit_.spent(len(taken), now_us, next_us)
                spent.append((next_us, name))
        if interval_us is not None and (shut_us := limit_.opens_us(now_us, next_us) - now_us):
            opens.append(shut_us / 1_000_000)
        last = name
        if len(jobs) >= limit:
            break
    if spent:
        yield Many("spend_gate", spent)
    went_on = len(waiting) == AT_ONCE or len(jobs) >= limit
    return Passed(jobs, last if went_on else "", min(opens, default=None))


def _keep(declared: list[NamedLimit], known: list[Any]) -> Script[None]:
    """Make gates known that are new, or of which their jobs say something else by now."""
    kept = {row[0]: NamedLimit(*row[:4]) for row in known}
    news = [tuple(gate) for gate in declared if kept.get(gate.name) != gate]
    if news:
        yield Many("keep_gate", news)
