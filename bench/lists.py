"""Pages of every list over HTTP, from a database with very many jobs: how long each takes."""

from __future__ import annotations

import asyncio
import time
from statistics import median, quantiles
from typing import Any
from urllib.parse import urlencode

import httpx
from rich.console import Console
from rich.table import Table

from bench.site import Ground, grounds
from holdfast import Engine
from holdfast.api.running import Service
from holdfast.api.settings import ApiSettings
from tests.api.jobs.million import COMBINATIONS, LARGE, OTHER_LISTS, SEARCHES, load

PATHS = [f"/api/jobs?{urlencode(where)}" for where in (*COMBINATIONS, *LARGE, *SEARCHES)] + OTHER_LISTS


def main(stores: tuple[str, ...], jobs: int) -> None:
    table = Table(title=f"{len(PATHS)} lists over {jobs:,} jobs, over a socket", title_justify="left")
    for column in ("store", "median ms", "p95 ms", "slowest ms"):
        table.add_column(column, justify="right")
    table.add_column("the slowest")
    with grounds(stores, ("FULL",)) as found:
        for ground in found:
            times = asyncio.run(measured(ground, jobs))
            slowest = max(times, key=lambda path: times[path])
            each = list(times.values())
            figures = (median(each), quantiles(each, n=20)[-1], times[slowest])
            table.add_row(ground.version, *(f"{took_s * 1000:.1f}" for took_s in figures), slowest)
    Console(width=150).print(table)


async def measured(ground: Ground, jobs: int) -> dict[str, float]:
    """How long each list took; the better of two times, so that a page is not timed that the disk had to find first."""
    async with ground.fresh() as site:
        url = site.address if site.store == "postgres" else f"sqlite:///{site.address}"
        await asyncio.to_thread(load, url, jobs)
        return await asyncio.to_thread(_timed, url)


def _timed(url: str) -> dict[str, float]:
    engine = Engine(url)
    service = Service(engine._inside, ApiSettings(port=0, rate=0), chores=False)
    base = engine._inside.portal.call(service.start(), 30)
    try:
        with httpx.Client(base_url=base, timeout=60, trust_env=False) as client:
            return {path: min(_took_s(client, path) for _ in range(2)) for path in PATHS}
    finally:
        engine._inside.portal.call(service.stop(), 30)
        engine.close()


def _took_s(client: httpx.Client, path: str) -> float:
    began_s = time.perf_counter()
    answer: Any = client.get(path)
    took_s = time.perf_counter() - began_s
    answer.raise_for_status()
    return took_s
