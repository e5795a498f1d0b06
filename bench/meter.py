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


def tree_cpu_s(pid: int) -> float:
    """The CPU time so far of a process and all below it, and of those of their children that have ended."""
    ticks = (_ticks(Path(f"/proc/{each}")) for each in tree(pid))
    return sum(own + ended for _, own, ended in ticks) / TICKS_PER_S


def tree_peak_mb(pid: int) -> float:
    """The most memory that a process and those below it have had resident, each at its own peak."""
    return sum(map(_peak_kb, tree(pid))) / 1024


def tree(pid: int) -> list[int]:
    """A process and all below it that live."""
    children: dict[int, list[int]] = {}
    for process in Path("/proc").glob("[0-9]*"):
        children.setdefault(_ticks(process)[0], []).append(int(process.name))
    found = [pid]
    for each in found:
        found += children.get(each, ())
    return found


def _peak_kb(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0  # ended since it was listed
    found = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(found[0]) if found else 0


def _ticks(process: Path) -> tuple[int, int, int]:
    """Its parent, its own ticks, and those of its children that have ended."""
    try:
        fields = (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0, 0, 0  # ended since it was listed
    user, system, ended_user, ended_system = map(int, fields[11:15])
    return int(fields[1]), user + system, ended_user + ended_system
