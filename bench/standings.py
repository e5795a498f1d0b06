"""What a contest found: a table for each store, and a file to compare with."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from bench import report
from bench.race import Lap
from bench.races import Drain, Race
from bench.roster import OURS, Entrant
from bench.series import cpu_ratio, speed_ratio, summary

if TYPE_CHECKING:
    from bench.contest import Found


def show(found: Found, entrants: Sequence[Entrant], console: Console) -> None:
    title = f"{found.version}: medians; CPU per job, client + server; ratios Holdfast / other, in each round"
    table = Table(title=title, title_justify="left")
    for column in ("race", "phase", "contender"):
        table.add_column(column)
    for column in ("jobs/s", "speed", "CPU µs", "CPU", "peak MB", "p50 ms", "p99 ms"):
        table.add_column(column, justify="right")
    table.add_column("remark")
    for (race, phase), by_name in found.laps.items():
        table.add_section()
        for number, (name, laps) in enumerate(by_name.items()):
            where = (race.name, phase) if number == 0 else ("", "")
            table.add_row(*where, name, *_figures(laps, by_name.get(OURS)), remark(laps, race))
    console.print(table)
    for name, why in found.absent.items():
        console.print(f"not run: {name}: {why}", highlight=False, markup=False)
    for (race, name), why in found.failed.items():
        console.print(f"did not come through: {name}, {race.name}: {why}", highlight=False, markup=False)
    settings = {entrant.name: entrant.setting for entrant in entrants}
    ran = "; ".join(f"{name} {version} ({settings[name]})" for name, version in found.versions.items())
    console.print(f"{ran}. Load average: {_load()}\n", highlight=False, markup=False)


def _load() -> str:
    return " ".join(f"{load:.1f}" for load in os.getloadavg())


def _figures(laps: Sequence[Lap], ours: Sequence[Lap] | None) -> list[str]:
    if laps[0].waits_ms:
        p50_ms, p99_ms = (median(percentile(lap.waits_ms, share) for lap in laps) for share in (0.5, 0.99))
        return ["", "", "", "", "", f"{p50_ms:.1f}", f"{p99_ms:.1f}"]
    readings = [lap.reading for lap in laps]
    known = summary(readings)
    # A contender that failed in a later round has fewer of them.
    both = [(lap.reading, other.reading) for lap, other in zip(ours or (), laps, strict=False)]
    speed, cpu = "", ""
    if both and ours is not laps:
        speed, cpu = (f"{ratio([a for a, _ in both], [b for _, b in both]):.2f}" for ratio in (speed_ratio, cpu_ratio))
    peak_mb = median(lap.peak_mb for lap in laps)
    cpu_us = f"{known.client_us:.0f} + {known.server_us:.0f}"
    return [f"{known.per_s:,.0f}", speed, cpu_us, cpu, f"{peak_mb:.0f}", "", ""]


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value that `share` of a sorted sequence does not exceed."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def remark(laps: Sequence[Lap], race: Race) -> str:
    """What a rate alone would hide."""
    words = []
    wanted = race.queued if isinstance(race, Drain) else race.jobs
    if (queued := min(lap.queued for lap in laps)) < wanted:
        words.append(f"{queued:,} enqueued in its time")
    if any(lap.left for lap in laps):
        words.append(f"{min(lap.queued - lap.left for lap in laps):,} done in its time")
    if twice := sum(lap.twice for lap in laps):
        words.append(f"{twice:,} run again")
    return ", ".join(words)


def short(lap: Lap) -> str:
    if lap.waits_ms:
        return f"p50 {percentile(lap.waits_ms, 0.5):.1f} ms, p99 {percentile(lap.waits_ms, 0.99):.1f} ms"
    found = lap.reading
    return (
        f"{found.jobs:,} jobs in {found.wall_s:.2f} s, {found.per_s:,.0f}/s, "
        f"{found.client_us:.0f} + {found.server_us:.0f} µs, {lap.peak_mb:.0f} MB"
    )


def write(everything: Sequence[Found], entrants: Sequence[Entrant]) -> Path:
    """Keep everything that was measured. Returns the file."""
    data = {
        "contenders": {entrant.name: entrant.setting for entrant in entrants},
        "stores": [_store(found) for found in everything],
    }
    now = datetime.now(UTC)
    return report.keep(f"peers-{now:%Y%m%dT%H%M%SZ}", now, data)


def _store(found: Found) -> dict[str, Any]:
    return {
        "store": found.store,
        "database": found.version,
        "versions": found.versions,
        "absent": found.absent,
        "failed": [{"race": asdict(race), "contender": name, "why": why} for (race, name), why in found.failed.items()],
        "phases": [
            {
                "race": {"name": race.name, **asdict(race)},
                "phase": phase,
                "laps": {name: [asdict(lap) for lap in laps] for name, laps in by_name.items()},
            }
            for (race, phase), by_name in found.laps.items()
        ],
    }
