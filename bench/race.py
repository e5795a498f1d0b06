"""One trial of one contender: its processes do the work, and everything is measured from outside them."""

from __future__ import annotations

import contextlib
import struct
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from bench.arena import Arena, Place
from bench.hand import Hand, HandFailed, hand
from bench.meter import Reading, tree_cpu_s, tree_peak_mb
from bench.races import Drain, Latency, OneByOne, Race

LOOK_EVERY_S = 0.005
ANSWER_S = 120.0
SETTLE_S = 1.0
FIRST_S = 60.0
LATE_S = 30.0


class Ready(NamedTuple):
    """A contender that can run here: its Python, and what its setup said."""

    name: str
    python: Path
    version: str
    left: str
    bulk: bool


@dataclass
class Lap:
    """What one phase of a trial took."""

    reading: Reading
    queued: int
    peak_mb: float = 0.0
    left: int = 0
    """What was not done when time was up."""

    twice: int = 0
    """How often a handler was called for a job that had been done already."""

    waits_ms: list[float] = field(default_factory=list)


def run(arena: Arena, peer: Ready, race: Race) -> dict[str, Lap]:
    """The laps of one trial, on a fresh database. HandFailed when a process of the contender fails."""
    with arena.fresh(peer.name) as place:
        match race:
            case Drain():
                load = _enqueue(arena, peer, place, race.queued, "bulk", race.load_s)
                laps = {"drain": _drain(arena, peer, place, race, load.queued)}
                return {"bulk": load, **laps} if peer.bulk else laps
            case OneByOne():
                return {"one by one": _enqueue(arena, peer, place, race.jobs, "one", race.limit_s)}
            case Latency():
                return {"latency": _latency(peer, place, race)}


def _enqueue(arena: Arena, peer: Ready, place: Place, jobs: int, how: str, limit_s: float) -> Lap:
    with hand(peer.python, peer.name, "enqueue", place.url, jobs, how, limit_s) as client:
        client.wait_ready()
        with _metered(arena, [client]) as lap:
            client.say("go")
            lap.reading.jobs = lap.queued = client.answer(limit_s + ANSWER_S)["jobs"]
        client.say("stop")
    stored = place.count(peer.left)
    if stored != lap.queued:
        raise HandFailed(f"enqueued {lap.queued} jobs, and {stored} are in its tables")
    return lap


def _drain(arena: Arena, peer: Ready, place: Place, race: Drain, queued: int) -> Lap:
    if race.settled:
        place.settle()
    with ExitStack() as stack:
        tallies, workers = _workers(stack, peer, place, race.workers)
        _go(workers)
        # The clock starts with the first job: who starts a process of its own or elects a leader does it once a day.
        ahead = _until_handled(workers, tallies, 1, FIRST_S)
        with _metered(arena, workers) as lap:
            done = _until_done(place, peer, workers, tallies, queued, time.monotonic() + race.limit_s)
            for worker in workers:
                worker.freeze()
        # Counting may take long where much is left. Killed, because who is stopped may hold SQLite's lock.
        for worker in workers:
            worker.kill()
        lap.left = 0 if done else place.count(peer.left)
        lap.queued, lap.reading.jobs = queued, queued - lap.left - ahead
        lap.twice = max(0, _handled(tallies) - queued)
    if lap.reading.jobs <= 0:
        raise HandFailed(f"finished {queued - lap.left} of {queued} jobs in {race.limit_s:.0f} s")
    return lap


def _latency(peer: Ready, place: Place, race: Latency) -> Lap:
    with ExitStack() as stack:
        tallies, workers = _workers(stack, peer, place, 1)
        client = stack.enter_context(
            hand(peer.python, peer.name, "enqueue", place.url, race.jobs, "spaced", race.pause_s)
        )
        client.wait_ready()
        _go(workers)
        time.sleep(SETTLE_S)
        client.say("go")
        client.answer(race.jobs * (race.pause_s + 1) + ANSWER_S)
        _until_handled(workers, tallies, race.jobs, LATE_S)
        [worker] = workers
        worker.say("stop")
        found = worker.answer(ANSWER_S)
    waits_ms = sorted(wait_ns / 1e6 for wait_ns in found["waits_ns"])
    if len(waits_ms) != race.jobs:
        raise HandFailed(f"{len(waits_ms)} of {race.jobs} jobs were started")
    return Lap(Reading(jobs=race.jobs), race.jobs, waits_ms=waits_ms)


def _workers(stack: ExitStack, peer: Ready, place: Place, count: int) -> tuple[list[Path], list[Hand]]:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="holdfast-bench-")))
    tallies = [folder / str(number) for number in range(count)]
    for tally in tallies:
        tally.write_bytes(bytes(8))
    workers = [stack.enter_context(hand(peer.python, peer.name, "work", place.url, tally)) for tally in tallies]
    for worker in workers:
        worker.wait_ready()
    return tallies, workers


def _go(workers: Sequence[Hand]) -> None:
    for worker in workers:
        worker.say("go")


def _until_handled(workers: Sequence[Hand], tallies: Sequence[Path], jobs: int, limit_s: float) -> int:
    """Waits until handlers have been called for so many jobs, or time is up; returns for how many they have."""
    until_s = time.monotonic() + limit_s
    while (handled := _handled(tallies)) < jobs and time.monotonic() < until_s:
        time.sleep(LOOK_EVERY_S)
        for worker in workers:
            worker.check()
    return handled


def _until_done(
    place: Place, peer: Ready, workers: Sequence[Hand], tallies: Sequence[Path], queued: int, until_s: float
) -> bool:
    """Waits until nothing is left, or time is up; returns whether nothing is."""
    while time.monotonic() < until_s:
        time.sleep(LOOK_EVERY_S)
        for worker in workers:
            worker.check()
        # The database is asked only when the handlers have been called for everything: counting costs it time.
        if _handled(tallies) >= queued and place.count(peer.left) == 0:
            return True
    return False


def _handled(tallies: Sequence[Path]) -> int:
    return sum(struct.unpack("q", tally.read_bytes())[0] for tally in tallies)


@contextlib.contextmanager
def _metered(arena: Arena, hands: Sequence[Hand]) -> Iterator[Lap]:
    """Fills the lap at the end, from the processes' own accounts; whoever works inside says how many jobs it was."""

    def cpu_s() -> float:
        return sum(tree_cpu_s(each.pid) for each in hands)

    lap = Lap(Reading(), 0)
    server_from, client_from, wall_from = arena.cpu_s(), cpu_s(), time.perf_counter()
    yield lap
    lap.reading.wall_s = time.perf_counter() - wall_from
    lap.reading.client_cpu_s = cpu_s() - client_from
    lap.reading.server_cpu_s = arena.cpu_s() - server_from
    lap.peak_mb = max(tree_peak_mb(each.pid) for each in hands)
