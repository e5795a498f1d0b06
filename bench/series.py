"""Many trials in turn, so that whatever the machine does meanwhile happens to every contender."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from bench.contender import Entry
from bench.meter import Reading
from bench.scenario import Scenario
from bench.site import Ground
from bench.trial import trial


class Phase(NamedTuple):
    """What was measured: where, in which scenario, and which part of it."""

    store: str
    setting: str
    scenario: Scenario
    name: str


class Summary(NamedTuple):
    """One contender's medians in one phase."""

    jobs: int
    per_s: float
    client_us: float
    server_us: float

    @property
    def cpu_us(self) -> float:
        return self.client_us + self.server_us


Series = dict[Phase, dict[str, list[Reading]]]
"""Phase → contender → one reading per round."""


async def run(
    ground: Ground,
    entries: Mapping[str, Entry],
    scenarios: Sequence[Scenario],
    *,
    rounds: int,
    limit_s: float,
    say: Callable[[str], None],
) -> Series:
    """Every scenario, `rounds` times, the contenders one after the other in each round."""
    series: Series = {}
    for scenario in scenarios:
        say(f"{ground.version}, {ground.setting}: {scenario.name}")
        for _ in range(rounds):
            for name, entry in entries.items():
                for phase, reading in (await trial(ground, entry, scenario, limit_s)).items():
                    key = Phase(ground.store, ground.setting, scenario, phase)
                    series.setdefault(key, {}).setdefault(name, []).append(reading)
    return series


def summary(readings: Sequence[Reading]) -> Summary:
    return Summary(
        jobs=int(median(reading.jobs for reading in readings)),
        per_s=median(reading.per_s for reading in readings),
        client_us=median(reading.client_us for reading in readings),
        server_us=median(reading.server_us for reading in readings),
    )


def speed_ratio(ours: Sequence[Reading], other: Sequence[Reading]) -> float:
    """How fast ours is, the other being 1: the median over the rounds, each compared with itself."""
    return median(a.per_s / b.per_s for a, b in zip(ours, other, strict=True))


def cpu_ratio(ours: Sequence[Reading], other: Sequence[Reading]) -> float:
    """How much CPU time a job of ours takes, client and server, the other's being 1."""
    return median((a.client_us + a.server_us) / (b.client_us + b.server_us) for a, b in zip(ours, other, strict=True))
