"""The stores against their limit: submit, claim and finish, beside the same rows by raw SQL."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from rich.console import Console

from bench import report
from bench.contender import Entry
from bench.ours import Ours
from bench.raw_postgres import RawPostgres
from bench.raw_sqlite import RawSqlite
from bench.scenario import Scenario
from bench.series import Series, run
from bench.site import Ground, grounds

CONTENDERS: dict[str, dict[str, Entry]] = {
    "postgres": {Ours.name: Ours, RawPostgres.name: RawPostgres},
    "sqlite": {Ours.name: Ours, RawSqlite.name: RawSqlite},
}


def measure(
    stores: tuple[str, ...],
    synchronous: tuple[str, ...],
    scenarios: Sequence[Scenario],
    *,
    rounds: int,
    limit_s: float,
) -> tuple[Series, list[str]]:
    """Run the scenarios on every ground; also returns the versions of the databases."""
    console = Console(stderr=True)
    started_s = time.monotonic()

    def say(what: str) -> None:
        console.print(f"[dim]{time.monotonic() - started_s:5.0f} s[/] {what}", highlight=False, soft_wrap=True)

    async def on(ground: Ground) -> Series:
        return await run(ground, CONTENDERS[ground.store], scenarios, rounds=rounds, limit_s=limit_s, say=say)

    series: Series = {}
    with grounds(stores, synchronous) as found:
        for ground in found:
            series |= asyncio.run(on(ground))
        versions = [f"{ground.version}, {ground.setting}" for ground in found]
    say("done")
    return series, versions


def main(
    stores: tuple[str, ...],
    synchronous: tuple[str, ...],
    scenarios: Sequence[Scenario],
    *,
    rounds: int,
    limit_s: float,
) -> None:
    series, versions = measure(stores, synchronous, scenarios, rounds=rounds, limit_s=limit_s)
    report.show(series, Console(width=150))
    profile = {"stores": stores, "synchronous": synchronous, "rounds": rounds, "limit_s": limit_s}
    print(report.write(series, profile, versions))
