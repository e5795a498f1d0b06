"""Wall time and CPU time of a stretch of work, in this process and in the server's."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass
class Reading:
    """How long `jobs` jobs took. The CPU's time is steadier than the clock's on a shared machine."""

    jobs: int = 0
    wall_s: float = 0.0
    client_cpu_s: float = 0.0
    server_cpu_s: float = 0.0

    def __iadd__(self, other: Reading) -> Reading:
        self.jobs += other.jobs
        self.wall_s += other.wall_s
        self.client_cpu_s += other.client_cpu_s
        self.server_cpu_s += other.server_cpu_s
        return self

    @property
    def per_s(self) -> float:
        return self.jobs / self.wall_s

    @property
    def client_us(self) -> float:
        return self.client_cpu_s / self.jobs * 1e6

    @property
    def server_us(self) -> float:
        return self.server_cpu_s / self.jobs * 1e6


@contextlib.contextmanager
def metered(server: Callable[[], float]) -> Iterator[Reading]:
    """Fills the reading at the end; whoever works inside says how many jobs it was."""
    reading = Reading()
    server_from, client_from, wall_from = server(), time.process_time(), time.perf_counter()
    yield reading
    reading.wall_s = time.perf_counter() - wall_from
    reading.client_cpu_s = time.process_time() - client_from
    reading.server_cpu_s = server() - server_from


def server_cpu_s(pid: int) -> float:
    """A server's CPU time so far: its children, those that have ended, and itself."""
    # In this order a child that ends meanwhile is counted twice rather than not at all.
    children = sum(own for parent, own, _ in map(_ticks, Path("/proc").glob("[0-9]*")) if parent == pid)
    _, own, ended = _ticks(Path(f"/proc/{pid}"))
    return (children + own + ended) / TICKS_PER_S


def _ticks(process: Path) -> tuple[int, int, int]:
    """Its parent, its own ticks, and those of its children that have ended."""
    try:
        fields = (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0, 0, 0  # ended since it was listed
    user, system, ended_user, ended_system = map(int, fields[11:15])
    return int(fields[1]), user + system, ended_user + ended_system
