"""No-op nodes of flows against plain no-op jobs: one worker, the same store, in the same round."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from bench.flow_shapes import TASK, Shape, chain, layered, narrow, wide
from bench.meter import metered
from bench.site import Ground, Site, grounds
from holdfast import Engine
from holdfast.runtime.task import Options
from holdfast.systems.flow.commands import submit as flow_submit

CONCURRENCY = 100
LIMIT_S = 300.0


class Figure(NamedTuple):
    """How long it took to submit, and to run from the first handler to the last; the CPU time of client and server."""

    jobs: int
    submit_s: float
    run_s: float
    cpu_s: float

    @property
    def submit_per_s(self) -> float:
        return self.jobs / self.submit_s

    @property
    def run_per_s(self) -> float:
        return (self.jobs - 1) / self.run_s

    @property
    def cpu_us(self) -> float:
        return self.cpu_s / self.jobs * 1e6


Round = dict[str, Figure]
"""By the name of the shape; that of the plain jobs is PLAIN."""
PLAIN = "plain jobs"


def shapes(*, quick: bool) -> list[Shape]:
    many, long = (2_000, 250) if quick else (10_000, 1_000)
    return [
        Shape("wide", many, wide),
        Shape("layered", many, layered),
        Shape("narrow", many, narrow),
        Shape("chain", long, chain),
    ]


class _Count:
    """Counts runs, and notes when the first and the last of them were."""

    def __init__(self, expected: int) -> None:
        self._left = expected
        self.first_s = self.last_s = 0.0
        self.done = threading.Event()

    def __call__(self) -> None:
        self.last_s = time.perf_counter()
        self.first_s = self.first_s or self.last_s
        self._left -= 1
        if not self._left:
            self.done.set()


async def measured(ground: Ground, shape: Shape | None, jobs: int) -> Figure:
    """A flow of this shape, or as many plain jobs, on a fresh database; checked in the tables."""
    async with ground.fresh() as site:
        figure = await asyncio.to_thread(_run, ground, site, shape, jobs)
        done, _ = await ground.counts(site)
    # A flow that has ended well is a job more.
    assert done == jobs + (shape is not None), f"{jobs} jobs were run and {done} are in the table"
    return figure


def _run(ground: Ground, site: Site, shape: Shape | None, jobs: int) -> Figure:
    count = _Count(jobs)
    url = site.address if site.store == "postgres" else f"sqlite:///{site.address}"
    with contextlib.closing(Engine(url)) as engine:

        async def noop() -> None:
            count()

        task = engine.task(name=TASK, lifecycle="durable" if shape is None else "workflow")(noop)
        engine._inside.portal.call(engine._inside.opened())
        began_s = time.perf_counter()
        if shape is None:
            task.submit_many([()] * jobs)
        else:
            engine._inside.portal.call(flow_submit.submit(engine._inside, shape.graph(), "{}", Options()))
        submit_s = time.perf_counter() - began_s
        with metered(ground.cpu_s) as reading, engine.worker(concurrency=CONCURRENCY):
            assert count.done.wait(LIMIT_S), f"{shape} was not done within {LIMIT_S} s"
    return Figure(jobs, submit_s, count.last_s - count.first_s, reading.client_cpu_s + reading.server_cpu_s)


async def measure(ground: Ground, chosen: Sequence[Shape], rounds: int) -> list[Round]:
    """Each shape once a round, beside as many plain jobs as the largest has nodes."""
    found = []
    for _ in range(rounds):
        one: Round = {PLAIN: await measured(ground, None, max(shape.nodes for shape in chosen))}
        for shape in chosen:
            one[shape.name] = await measured(ground, shape, shape.nodes)
        found.append(one)
    return found


def ratio(rounds: Sequence[Round], name: str, *, submit: bool = False) -> float:
    """How fast nodes of this shape are, plain jobs being 1: the median over the rounds."""
    if submit:
        return median(one[name].submit_per_s / one[PLAIN].submit_per_s for one in rounds)
    return median(one[name].run_per_s / one[PLAIN].run_per_s for one in rounds)


def table(ground: Ground, rounds: Sequence[Round]) -> Table:
    title = f"{ground.version} {ground.setting}: no-op nodes against plain no-op jobs, one worker"
    shown = Table(title=title, title_justify="left")
    for column in ("shape", "nodes", "submit /s", "ratio", "run /s", "ms a node", "ratio", "CPU µs"):
        shown.add_column(column, justify="left" if column == "shape" else "right")
    for name, figure in rounds[0].items():
        submit, run, cpu = (
            median(getattr(one[name], what) for one in rounds) for what in ("submit_per_s", "run_per_s", "cpu_us")
        )
        shown.add_row(
            name,
            f"{figure.jobs:,}",
            f"{submit:,.0f}",
            f"{ratio(rounds, name, submit=True):.2f}",
            f"{run:,.0f}",
            f"{1_000 / run:.2f}",
            f"{ratio(rounds, name):.2f}",
            f"{cpu:,.0f}",
        )
    return shown


def main(stores: tuple[str, ...], *, quick: bool, rounds: int) -> None:
    console = Console(width=120)
    with grounds(stores, ("FULL",)) as found:
        for ground in found:
            console.print(table(ground, asyncio.run(measure(ground, shapes(quick=quick), rounds))))
