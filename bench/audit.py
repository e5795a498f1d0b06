"""The audit over many jobs: how long it takes, and the most memory that one of its processes needs."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.ours import Ours
from bench.scenario import Scenario
from bench.site import Ground, Site, grounds
from bench.trial import fill_and_drain

BATCH = 500
LIMIT_S = 600.0
# In a process of its own: this one's memory has its peak from the load.
AUDITOR = """
import asyncio, json, resource, sys
from holdfast.audit.auditor import audit
found = asyncio.run(audit(sys.argv[1]))
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(json.dumps({
    "jobs": found.jobs,
    "events": found.events,
    "violations": found.total_violations,
    "wall_s": found.seconds,
    "cpu_s": sum(u.ru_utime + u.ru_stime for u in used),
    "peak_mb": max(u.ru_maxrss for u in used) / 1024,
}))
"""


def main(stores: tuple[str, ...], jobs: int) -> None:
    table = Table(title="audit of healthy jobs", title_justify="left")
    for column in ("store", "jobs", "events", "violations", "wall s", "CPU s", "jobs/s", "peak MB"):
        table.add_column(column, justify="right")
    with grounds(stores, ("FULL",)) as found:
        for ground in found:
            report = asyncio.run(measured(ground, jobs))
            table.add_row(
                ground.version,
                f"{report['jobs']:,}",
                f"{report['events']:,}",
                str(report["violations"]),
                f"{report['wall_s']:.1f}",
                f"{report['cpu_s']:.1f}",
                f"{report['jobs'] / report['wall_s']:,.0f}",
                f"{report['peak_mb']:.0f}",
            )
    Console(width=150).print(table)


async def measured(ground: Ground, jobs: int) -> dict[str, Any]:
    """What an audit of `jobs` jobs that all succeeded took."""
    async with ground.fresh() as site:
        began_s = time.monotonic()
        await fill_and_drain(ground, site, Ours, Scenario(jobs, BATCH, jobs), LIMIT_S)
        print(f"{ground.version}: loaded in {time.monotonic() - began_s:.0f} s", file=sys.stderr)
        report = await asyncio.to_thread(_audit, site)
        done, events = await ground.counts(site)
    assert (report["jobs"], report["events"]) == (done, events), "the audit did not see everything"
    assert report["violations"] == 0, f"{report['violations']} violations among healthy jobs"
    return report


def _audit(site: Site) -> dict[str, Any]:
    url = site.address if site.store == "postgres" else f"sqlite:///{site.address}"
    run = subprocess.run([sys.executable, "-c", AUDITOR, url], capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(f"the audit failed:\n{run.stderr}")
    found: dict[str, Any] = json.loads(run.stdout)
    return found
