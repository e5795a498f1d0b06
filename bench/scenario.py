"""What is measured: how many jobs wait, how many a transaction takes, and who is watching."""

from __future__ import annotations

from dataclasses import dataclass

QUICK_ROUNDS = 3
ROUNDS = 5
MILLION = 1_000_000


@dataclass(frozen=True)
class Scenario:
    """`jobs` of `queued` jobs go through, `batch` to a transaction.

    With `steps`, submit, claim and finish are measured apart, one after the other, by a worker that was there
    before the first job. Without, the load, and then the drain by a worker that comes afterwards: claim and
    finish overlap. With `held`, a reader keeps a snapshot open from before the first job on.
    """

    queued: int
    batch: int
    jobs: int
    steps: bool = False
    held: bool = False
    result: bool = False

    @property
    def name(self) -> str:
        more = ", step by step" * self.steps + ", snapshot held" * self.held + ", with result" * self.result
        return f"{self.queued:,} queued, batch {self.batch}{more}"


def scenarios(*, quick: bool, million: bool, million_held: bool) -> list[Scenario]:
    """The scenarios of a profile, in the order in which they run."""
    chosen = _quick() if quick else _full()
    if million:
        chosen += [Scenario(MILLION, batch, MILLION) for batch in (100, 500)]
    if million_held:
        chosen.append(Scenario(MILLION, 100, MILLION, held=True))
    return chosen


def _quick() -> list[Scenario]:
    return [
        Scenario(10_000, 100, 10_000, steps=True),
        Scenario(10_000, 100, 10_000),
        Scenario(10_000, 100, 10_000, held=True),
        Scenario(1_000, 1, 200, steps=True),
        Scenario(1_000, 1, 200),
    ]


def _full() -> list[Scenario]:
    return [
        *(Scenario(10_000, batch, 10_000, steps=True) for batch in (100, 500)),
        *(Scenario(10_000, batch, 10_000) for batch in (100, 200, 500)),
        Scenario(10_000, 100, 10_000, result=True),
        Scenario(10_000, 100, 10_000, held=True),
        Scenario(100_000, 100, 100_000),
        Scenario(100_000, 100, 100_000, held=True),
        Scenario(10_000, 1, 2_000, steps=True),
        Scenario(10_000, 1, 2_000),
    ]
