"""Which lanes a claim looks into, and where in each it starts.

Claims start behind the last one: the head of the index fills with entries of jobs that are gone, and reading
them again and again is what makes queues slow. What turns up before the floor (a late commit, a job that was
handed back) is found because floors are dropped regularly, and at once when there is nothing behind them.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from holdfast.kernel.job import Job
from holdfast.store.dialect import START, Floor, Lane

LOOK_EVERY_S = 1.0
LOOK_SHARE = 0.05
"""Looking may cost this share of the time: it is rarer where it is dear."""


@dataclass(slots=True)
class Lanes:
    """What one store knows of its lanes. Knowledge may be old: it decides about speed, never about truth."""

    lanes: list[Lane] = field(default_factory=list)
    floors: dict[Lane, Floor] = field(default_factory=dict)
    _next_look: float = 0.0
    _turn: int = 0

    def stale(self, now_s: float) -> bool:
        return now_s >= self._next_look

    def looked(self, lanes: list[Lane], began_s: float, ended_s: float) -> None:
        """New lanes; every floor is dropped, so that the next claim of each lane starts at its head."""
        self.lanes = lanes
        self.floors.clear()
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
            return sorted(wanted, key=lambda lane: (-lane.priority, -draw[lane.queue]))
        self._turn += 1
        turn = self._turn % len(wanted) if wanted else 0
        return sorted(wanted[turn:] + wanted[:turn], key=lambda lane: -lane.priority)

    def floor(self, lane: Lane) -> Floor:
        return self.floors.get(lane, START)

    def claimed(self, lane: Lane, jobs: list[Job]) -> None:
        """These were taken, longest due first."""
        if jobs:
            self.floors[lane] = Floor(jobs[-1].due_at_ms, jobs[-1].id)
