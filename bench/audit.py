"""The audit over many jobs: wall time, and the peak of its own process's memory."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.scenario import Scenario
from bench.site import Ground, Site, grounds
from bench.store import CONTENDERS
from bench.trial import fill_and_drain

LIMIT_S = 600.0
BATCH = 500
# In a process of its own: this one's memory has a peak from the load.
AUDITOR = """
import asyncio, json, resource, sys, time
from holdfast.runtime.auditor import audit
began_s = time.perf_counter()
found = asyncio.run(audit(sys.argv[1]))
wall_s = time.perf_counter() - began_s
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"wall_s": wall_s, "cpu_s": time.process_time(), "rss_mb": peak / 1024, "found": str(found)}))
"""


def main(stores: tuple[str, ...], jobs: int) -> None:
    table = Table(title="audit", title_justify="left")
    for column in ("store", "jobs", "events", "wall s", "CPU s", "jobs/s", "peak MB", "found"):
        table.add_column(column, justify="right")
    with grounds(stores, ("FULL",)) as found:
        for ground in found:
            table.add_row(*asyncio.run(_row(ground, jobs)))
    Console(width=150).print(table)


async def _row(ground: Ground, jobs: int) -> list[str]:
    async with ground.fresh() as site:
        # By raw SQL's rows the audit would fail: its digests are zeros.
        entry = CONTENDERS[ground.store]["holdfast"]
        began_s = time.monotonic()
        await fill_and_drain(ground, site, entry, Scenario(jobs, BATCH, jobs), LIMIT_S)
        print(f"{ground.version}: {jobs:,} jobs in {time.monotonic() - began_s:.0f} s", file=sys.stderr)
        _, events = await ground.counts(site)
        report = await asyncio.to_thread(_audit, site)
    rate = jobs / report["wall_s"]
    return [
        ground.version,
        f"{jobs:,}",
        f"{events:,}",
        f"{report['wall_s']:.1f}",
        f"{report['cpu_s']:.1f}",
        f"{rate:,.0f}",
        f"{report['rss_mb']:.0f}",
        report["found"][:200],
    ]


def _audit(site: Site) -> dict[str, Any]:
    url = site.address if site.store == "postgres" else f"sqlite:///{site.address}"
    run = subprocess.run([sys.executable, "-c", AUDITOR, url], capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(f"the audit failed:\n{run.stderr}")
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found
