"""The night's work: something under each lifecycle, and three tasks for what goes wrong."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from holdfast.engine import Engine
from holdfast.kernel.errors import TransientError
from holdfast.runtime.task import Task
from holdfast.systems.flow.declare.flow import Flow
from holdfast.systems.pipeline.declare.pipeline import Pipeline
from holdfast.tasks.context import Context

QUEUE = "demo"
SHEET_S = 0.35


@dataclass(frozen=True)
class Edition:
    day: str
    with_crossword: bool = False


@dataclass(frozen=True)
class Night:
    """The engine and its tasks."""

    app: Engine
    fetch: Task[[str], int]
    words: Task[[str], int]
    edition: Pipeline[Edition]
    letters: Flow
    typeset: Task[[str], str]
    print_run: Task[[int, str], list[int]]
    invoice: Task[[int, str], str]
    watch: Task[[int], str]


def night(url: str) -> Night:
    """Declare everything on the engine of a database. Short leases: a demonstration has no minute to wait."""
    app = Engine(url)

    @app.task(lifecycle="crawl", queue=QUEUE, lease="2s", backoff="400ms")
    def fetch(ctx: Context, url: str) -> int:
        time.sleep(0.3)
        if "slow" in url and ctx.tries == 1:
            raise TransientError("the site asks for patience", code="rate_limited")
        return 1_000 + len(url)

    @app.task(queue=QUEUE, lease="2s")
    def words(ctx: Context, text: str) -> int:
        total = 0
        for word in ctx.track(text.split(), "counting"):
            time.sleep(0.3)
            total += ctx.step(f"len:{word}", len, word)
        return total

    @app.task(lifecycle="sandbox", queue=QUEUE, lease="2s")
    def typeset(headline: str) -> str:
        code = "import sys; print(sys.argv[1].upper())"
        command = [sys.executable, "-I", "-c", code, headline]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603 - our own

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

    return Night(app, fetch, words, _edition(app), _letters(app), typeset, print_run, invoice, watch)


def _edition(app: Engine) -> Pipeline[Edition]:
    edition = app.pipeline("edition", Edition, queue=QUEUE, lease="2s")

    @edition.stage
    def ingest(config: Edition) -> list[str]:
        time.sleep(0.4)
        return [f"{story}, {config.day}" for story in ("flood", "election", "cup final")]

    @edition.stage
    def brief(ingest: list[str]) -> str:
        time.sleep(0.4)
        return f"{len(ingest)} stories"

    @edition.stage(enabled="with_crossword")
    def crossword() -> str:
        return "6 across"

    return edition


def _letters(app: Engine) -> Flow:
    letters = app.flow("letters")

    @letters.task(queue=QUEUE, lease="2s")
    def collect(received: int) -> list[str]:
        time.sleep(0.2)
        return [("praise", "complaint")[n % 2] for n in range(received)]

    @letters.task(map_over=collect, queue=QUEUE, lease="2s")
    def answer(letter: str) -> str:
        time.sleep(0.2)
        return f"answered a {letter}"

    @letters.task(after=answer, queue=QUEUE, lease="2s")
    def page(answer: list[str]) -> str:
        return f"a page of {len(answer)} letters"

    letters.branch(after=collect, cases=[(lambda letters: len(letters) > 0, answer)])
    return letters


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
