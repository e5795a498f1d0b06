"""A large log, made by the product's own calls, sealed and audited: `python -m tests.audit.load URL [JOBS]`.

URL names a database that may be filled. Every tenth job is retried once: 4.3 events a job.
"""

import asyncio
import resource
import sys
import time
from pathlib import Path

from uuid_utils import uuid7

from holdfast.audit.auditor import audit
from holdfast.chores.sealer import Sealer
from holdfast.kernel.durable import DURABLE
from holdfast.kernel.job import Failure, Spec
from holdfast.kernel.move import Change
from holdfast.kernel.outcome import Done, Outcome, Retry
from holdfast.kernel.settle import settle
from holdfast.store.open import open_store
from holdfast.store.port import Store
from holdfast.store.sqlite.driver import open_sqlite

BATCH = 5000
BUSY = Failure("network_error", "transient", "no route", {"attempt": 1})


async def fill(store: Store, jobs: int) -> int:
    """Submit, claim, start and end this many jobs; the number of their events."""
    made = events = 0
    while made < jobs:
        size = min(BATCH, jobs - made)
        specs = [
            Spec(str(uuid7()), "durable", "load.task", payload=f'{{"n":{n}}}', max_tries=3)
            for n in range(made, made + size)
        ]
        await store.jobs.submit(specs)
        made, events = made + size, events + size
        while claimed := await store.jobs.claim(["default"], BATCH, "worker-1"):
            events += 3 * len(claimed)
            changes: dict[tuple[object, ...], Change] = {}
            for n, job in enumerate(claimed):
                outcome: Outcome = Retry(BUSY, 0) if n % 10 == 0 and job.tries == 1 else Done('{"ok":true}')
                path, move = settle(DURABLE, job, outcome)
                changes.setdefault(path, Change(DURABLE, path, "worker-1", [], "worker-1")).moves.append(move)
            await store.jobs.apply(list(changes.values()))
    return events


def peak_mb(who: int) -> float:
    return resource.getrusage(who).ru_maxrss / 1024


async def main(url: str, jobs: int) -> None:
    is_file = "://" not in url
    store = open_sqlite(Path(url), synchronous="OFF") if is_file else open_store(url)
    await store.migrate()
    began = time.perf_counter()
    events = await fill(store, jobs)
    print(f"filled   {jobs:,} jobs, {events:,} events in {time.perf_counter() - began:.1f} s", flush=True)
    began = time.perf_counter()
    seals = await Sealer(store).seal_all()
    print(f"sealed   {len(seals):,} seals in {time.perf_counter() - began:.1f} s", flush=True)
    await store.close()
    report = await audit(url)
    print(
        f"audited  {report.jobs:,} jobs, {report.events:,} events, {report.seals:,} seals "
        f"in {report.seconds:.1f} s, "
        f"{report.total_violations} violations, peak {peak_mb(resource.RUSAGE_CHILDREN):.0f} MB a pass",
        flush=True,
    )
    print(*report.violations[:10], sep="\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000))
