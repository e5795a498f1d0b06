"""The audit: every invariant over every job, and every seal, of a database that may be at work meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from holdfast.audit.findings import Progress
from holdfast.audit.process import run_in_process, run_pass
from holdfast.kernel.errors import StoreError
from holdfast.kernel.proof.invariants import Violation
from holdfast.store.open import SQLITE, open_store

__all__ = ["Progress", "Report", "audit"]


class Report(NamedTuple):
    """What an audit saw. `violations` are the first of `total_violations`; `unsealed` events await a seal."""

    jobs: int
    events: int
    seals: int
    unsealed: int
    total_violations: int
    violations: list[Violation]
    seconds: float


async def audit(
    url: str, *, on_progress: Callable[[Progress], None] | None = None, most: int = 1000, processes: bool = True
) -> Report:
    """Check the database at an address, in constant memory: I1–I14 and the count over jobs, I19 over seals.

    Two passes run at once, each in a process of its own; without `processes` they take turns in this one. At
    most `most` violations of each pass are kept, all are counted. StoreError when it cannot be read.
    """
    began = time.perf_counter()
    await _readable(url)
    tick = on_progress or (lambda _: None)
    run = run_in_process if processes else run_pass
    passes = [asyncio.ensure_future(run(url, name, most, tick)) for name in ("jobs", "seals")]
    try:
        (of_jobs, (jobs, events)), (of_seals, (seals, unsealed)) = await asyncio.gather(*passes)
    finally:
        for one in passes:
            one.cancel()
        await asyncio.gather(*passes, return_exceptions=True)
    return Report(
        jobs=jobs,
        events=events,
        seals=seals,
        unsealed=unsealed,
        total_violations=of_jobs.total + of_seals.total,
        violations=(of_jobs.kept + of_seals.kept)[:most],
        seconds=time.perf_counter() - began,
    )


async def _readable(url: str) -> None:
    """An audit makes no database, and judges none that it does not know."""
    path = url.removeprefix(SQLITE)
    if "://" not in path and not await asyncio.to_thread(Path(path).is_file):
        raise StoreError(f"there is no database at {path}", field="db", remedy="check the address")
    store = open_store(url)
    try:
        schema = await store.schema()
    finally:
        await store.close()
    schema.refuse_unknown()
    if schema.pending:
        raise StoreError(
            f"the database lacks {', '.join(schema.pending)}", field="db", remedy="run `holdfast db migrate` first"
        )
