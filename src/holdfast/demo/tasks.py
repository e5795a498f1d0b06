"""The night's work: what each system brings, and tasks for what goes wrong."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast import catalog
from holdfast.engine import Engine
from holdfast.runtime.handle import JobHandle
from holdfast.runtime.task import Task
from holdfast.tasks.context import Context

QUEUE = "demo"
SHEET_S = 0.35


Part = Callable[[], dict[str, JobHandle[Any]]]
"""Submits what a system has brought, each job under a name that a person can follow."""


@dataclass(frozen=True)
class Night:
    """The engine and its tasks."""

    app: Engine
    parts: list[Part]
    words: Task[[str], int]
    print_run: Task[[int, str], list[int]]
    invoice: Task[[int, str], str]
    watch: Task[[int], str]


def night(url: str) -> Night:
    """Declare everything on the engine of a database. Short leases: a demonstration has no minute to wait."""
    app = Engine(url)
    parts: list[Part] = []
    catalog.brought("demo", lambda part: parts.append(part(app._inside, QUEUE)))

    @app.task(queue=QUEUE, lease="2s")
    def words(ctx: Context, text: str) -> int:
        total = 0
        for word in ctx.track(text.split(), "counting"):
            time.sleep(0.3)
            total += ctx.step(f"len:{word}", len, word)
        return total

    @app.task(queue=QUEUE, lease="1s", retries=5)
    def print_run(ctx: Context, sheets: int, ledger: str) -> list[int]:
        return [ctx.step(f"sheet {n}", _print, Path(ledger), ctx.job_id, n) for n in ctx.track(range(1, sheets + 1))]

    @app.task(queue=QUEUE, lease="2s", retries=2, backoff="200ms", on_exhausted="dead_letter")
    def invoice(number: int, amount: str) -> str:
        return f"invoice {number}: {float(amount):.2f} EUR"

    @app.task(queue=QUEUE, lease="2s")
    def watch(ctx: Context, hours: int) -> str:
        for tick in range(1, hours * 36_000):
            time.sleep(0.1)
            if ctx.cancelled:
                return f"left after {tick / 10:.1f} s, as asked"
        return "all quiet"

    return Night(app, parts, words, print_run, invoice, watch)


def _print(ledger: Path, job_id: str, sheet: int) -> int:
    """Print a sheet: an effect outside, which no database can take back. Returns who did it."""
    with ledger.open("a") as paper:
        paper.write(f"{job_id} {sheet}\n")
    time.sleep(SHEET_S)
    return os.getpid()


def sheets_on_paper(ledger: Path) -> list[str]:
    return ledger.read_text().splitlines() if ledger.exists() else []


def named(pids: list[int], names: dict[int, str]) -> dict[str, int]:
    """How many sheets each worker printed."""
    counted: dict[str, int] = {}
    for pid in pids:
        name = names.get(pid, str(pid))
        counted[name] = counted.get(name, 0) + 1
    return counted
