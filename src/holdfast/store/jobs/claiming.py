"""Which lanes a claim looks into, and where in each it starts.

Claims start behind the last one: the head of the index fills with entries of jobs that are gone, and reading
them again and again is what makes queues slow. What turns up before the floor (a late commit, a job that was
handed back) is found because floors are dropped regularly, and at once when there is nothing behind them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from holdfast.kernel.job import Job
from holdfast.store.dialect import START, ClaimFrom, Lane
from holdfast.store.script import Query, Script

FIRST_GATE, LAST_GATE = "\x01", "\U0010ffff"
"""All gates lie between these; a lane whose gate is the last stands for all the gates that it has."""

LAST_TURN = 2**31 - 1
MOST_PARTS = 8
"""So often one claim may come back to nodes of flows between lanes of other kinds; what is left waits for a look."""

LOOK_EVERY_S = 1.0
LOOK_SHARE = 0.05
"""Looking may cost this share of the time: it is rarer where it is dear."""


@dataclass(slots=True)
class Lanes:
    """What one store knows of its lanes. Knowledge may be old: it decides about speed, never about truth."""

    lanes: list[Lane] = field(default_factory=list)
    heads: dict[Lane, ClaimFrom] = field(default_factory=dict)
    after_limits: dict[Lane, str] = field(default_factory=dict)
    """The gate of each lane that was served last: the next claim starts behind it."""
    _next_look: float = 0.0
    _round: int = 0

    def stale(self, now_s: float) -> bool:
        return now_s >= self._next_look

    def looked(self, lanes: list[Lane], began_s: float, ended_s: float) -> None:
        """New lanes; every floor is dropped, so that the next claim of each lane starts at its head."""
        self.lanes = lanes
        self.heads.clear()
        self._next_look = ended_s + max(LOOK_EVERY_S, (ended_s - began_s) / LOOK_SHARE)

    def headed(self, took_s: float, ended_s: float) -> None:
        """A claim from a lane's head took this long: the next look at heads keeps its distance."""
        self._next_look = max(self._next_look, ended_s + took_s / LOOK_SHARE)

    def forget(self) -> None:
        self._next_look = 0.0

    def order(self, queues: Collection[str]) -> list[Lane]:
        """Highest priority first; equals take turns, or come first as often as the weights of their queues say."""
        wanted = [lane for lane in self.lanes if lane.queue in queues]
        if isinstance(queues, Mapping):
            # u ** (1 / weight), the largest first, is a draw without replacement in proportion to the weights.
            draw = {queue: random.random() ** (1 / weight) for queue, weight in queues.items()}  # noqa: S311 - shares turns
            return sorted(wanted, key=lambda lane: (lane.turn, -draw[lane.queue]))
        self._round += 1
        start = self._round % len(wanted) if wanted else 0
        return sorted(wanted[start:] + wanted[:start], key=lambda lane: lane.turn)

    def claim_from(self, lane: Lane) -> ClaimFrom:
        return self.heads.get(lane, START)

    def claimed(self, lane: Lane, jobs: list[Job]) -> None:
        """These were taken, longest due first."""
        if jobs:
            self.heads[lane] = ClaimFrom(jobs[-1].due_at_ms, jobs[-1].id)


def lanes() -> Script[list[Lane]]:
    """Every lane that has a job to claim; one that has gates once for all of them."""
    found: list[Lane] = []
    at = Lane("", "", "", -(2**31))
    while rows := (yield Query("next_lanes", {**at._asdict(), "last_gate": LAST_GATE})):
        for *lane, _ in rows:
            at = Lane(*lane)
            if at.gate:
                at = at._replace(gate=LAST_GATE)
            found.append(at)
        if not rows[-1][-1]:  # there are no more
            break
    return found


def together(found: Collection[Lane], graphs: Collection[str]) -> list[Lane]:
    """Lanes by turn; those of the lifecycles of flows, which have a turn for each depth and new ones all the time, as
    few as there can be: one takes all turns up to where a lane of another kind comes first.
    """
    made: list[Lane] = []
    parts: Counter[tuple[str, str, str]] = Counter()
    is_graph = {lane for lane in found if lane.lifecycle in graphs and not lane.gate}
    for lane in sorted(found, key=lambda lane: (lane.turn, lane not in is_graph)):
        if lane in is_graph:
            kind = lane[:3]
            # Beside equals, which take turns, a lane has its own turn alone.
            goes_on = made and made[-1] in is_graph and made[-1][:3] == kind
            if parts[kind] == MOST_PARTS or (goes_on and (len(made) == 1 or made[-2].turn < made[-1].turn)):
                continue
            parts[kind] += 1
        made.append(lane)
    ends = [*(lane.turn for lane in made[1:]), LAST_TURN]
    return [lane._replace(up_to=end) if lane in is_graph else lane for lane, end in zip(made, ends, strict=False)]
