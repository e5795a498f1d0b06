"""What workers are compared in, and how much of it a profile holds."""

from __future__ import annotations

from dataclasses import dataclass

ROUNDS = 3
MILLION = 1_000_000


@dataclass(frozen=True)
class Drain:
    """`queued` no-op jobs are enqueued in bulk, then drained by workers that start afterwards.

    Whoever enqueues slowly has fewer of them when `load_s` is over; whoever drains slowly is stopped after `limit_s`.
    Rates are of what was done. Tables are vacuumed and analysed after the load where `settled`, as those of a queue
    that has been running for a while; the clock starts with the first job, so that starting up is not counted.
    """

    queued: int
    workers: int
    load_s: float
    limit_s: float
    rounds: int = ROUNDS
    settled: bool = True

    @property
    def name(self) -> str:
        more = "" if self.settled else ", just loaded"
        return f"{self.queued:,} queued{more}, {self.workers} worker{'s' * (self.workers > 1)}"


@dataclass(frozen=True)
class OneByOne:
    """`jobs` jobs, each with a call of its own."""

    jobs: int
    limit_s: float
    rounds: int = ROUNDS
    name = "enqueue"


@dataclass(frozen=True)
class Latency:
    """From the call that enqueues to the first line of the handler, one job at a time, on an idle system."""

    jobs: int
    pause_s: float
    rounds: int = 1
    name = "idle"


Race = Drain | OneByOne | Latency


def races(*, quick: bool, million: bool = True) -> list[Race]:
    """The races of a profile, in the order in which they run."""
    if quick:
        return [
            OneByOne(500, limit_s=2, rounds=1),
            Latency(20, pause_s=0.05),
            Drain(10_000, 1, load_s=2, limit_s=3, rounds=1),
            Drain(10_000, 2, load_s=2, limit_s=3, rounds=1),
        ]
    chosen: list[Race] = [
        OneByOne(2_000, limit_s=10),
        Latency(200, pause_s=0.05, rounds=3),
        # The slowest are cut off soon: a rate is known after some seconds, and all of it is to take half an hour or so.
        *(Drain(10_000, workers, load_s=10, limit_s=10) for workers in (1, 2)),
        *(Drain(100_000, workers, load_s=20, limit_s=15, rounds=1) for workers in (1, 2)),
    ]
    if million:
        chosen.append(Drain(MILLION, 1, load_s=60, limit_s=45, rounds=1, settled=False))
    return chosen
