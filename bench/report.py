"""What a run found: tables to read, and a file to compare with."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.meter import Reading
from bench.scenario import Scenario
from bench.series import Phase, Series, cpu_ratio, speed_ratio, summary

RESULTS = Path(__file__).parent / "results"
OURS = "holdfast"
BASE_QUEUED = 10_000


def show(series: Series, console: Console) -> None:
    for ground in dict.fromkeys((phase.store, phase.setting) for phase in series):
        console.print(_against_others({p: found for p, found in series.items() if p[:2] == ground}, ground))
    ratios = against_ourselves(series)
    if ratios:
        table = Table(title="Holdfast's drain against itself", title_justify="left")
        for column in ("store", "drain", "compared with"):
            table.add_column(column)
        table.add_column("speed", justify="right")
        for ratio in ratios:
            table.add_row(ratio["store"], ratio["scenario"], ratio["base"], f"{ratio['speed']:.2f}")
        console.print(table)


def _against_others(series: Series, ground: tuple[str, str]) -> Table:
    title = f"{' '.join(ground)}: medians; CPU per job, client + server; ratios Holdfast / other in each round"
    table = Table(title=title, title_justify="left")
    for column in ("scenario", "phase"):
        table.add_column(column)
    for column in ("Holdfast /s", "CPU µs", "other", "other /s", "CPU µs", "speed", "CPU"):
        table.add_column(column, justify="right")
    shown = None
    for phase, readings in series.items():
        ours = readings[OURS]
        for name, others in readings.items():
            if name == OURS and len(readings) > 1:
                continue
            where = phase.scenario.name if phase.scenario != shown else ""
            if where:
                table.add_section()
            shown = phase.scenario
            ratios = f"{speed_ratio(ours, others):.2f}", f"{cpu_ratio(ours, others):.2f}"
            table.add_row(where, phase.name, *_figures(ours), name, *_figures(others), *ratios)
    return table


def _figures(readings: Sequence[Reading]) -> tuple[str, str]:
    found = summary(readings)
    return f"{found.per_s:,.0f}", f"{found.client_us:.1f} + {found.server_us:.1f}"


def against_ourselves(series: Series) -> list[dict[str, Any]]:
    """How our drain holds up: with more waiting, and with a snapshot held open."""
    found = []
    for phase, readings in series.items():
        if phase.name != "drain" or OURS not in readings:
            continue
        for base in _bases(phase.scenario):
            other = series.get(phase._replace(scenario=base), {}).get(OURS)
            if other:
                ratio = summary(readings[OURS]).per_s / summary(other).per_s
                found.append(
                    {
                        "store": f"{phase.store} {phase.setting}",
                        "scenario": phase.scenario.name,
                        "base": base.name,
                        "speed": ratio,
                    }
                )
    return found


def _bases(scenario: Scenario) -> list[Scenario]:
    bases = []
    if scenario.held or scenario.result:
        bases.append(replace(scenario, held=False, result=False))
    elif scenario.queued > BASE_QUEUED:
        bases.append(replace(scenario, queued=BASE_QUEUED, jobs=BASE_QUEUED))
    return bases


def write(series: Series, profile: dict[str, Any], versions: list[str]) -> Path:
    """Keep everything that was measured. Returns the file."""
    now = datetime.now(UTC)
    data = {
        "profile": profile,
        "databases": versions,
        "phases": [_phase(phase, readings) for phase, readings in series.items()],
        "against_ourselves": against_ourselves(series),
    }
    return keep(f"{now:%Y%m%dT%H%M%SZ}", now, data)


def keep(name: str, now: datetime, data: dict[str, Any]) -> Path:
    """Write what was found, under when, where and on what it was found."""
    machine = {
        "cpus": os.cpu_count(),
        "load_at_end": os.getloadavg(),
        "system": platform.platform(),
        "python": platform.python_version(),
    }
    everything = {"at": now.isoformat(timespec="seconds"), "commit": _commit(), "machine": machine, **data}
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / f"{name}.json"
    file.write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")
    return file


def _phase(phase: Phase, readings: dict[str, list[Any]]) -> dict[str, Any]:
    ours = readings.get(OURS)
    others = [name for name in readings if name != OURS and ours]
    return {
        "store": phase.store,
        "setting": phase.setting,
        "scenario": asdict(phase.scenario),
        "phase": phase.name,
        "medians": {name: summary(rounds)._asdict() for name, rounds in readings.items()},
        "speed_ratio": {name: speed_ratio(readings[OURS], readings[name]) for name in others},
        "cpu_ratio": {name: cpu_ratio(readings[OURS], readings[name]) for name in others},
        "rounds": {name: [asdict(reading) for reading in rounds] for name, rounds in readings.items()},
    }


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    found = subprocess.run(command, cwd=RESULTS.parent, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"
