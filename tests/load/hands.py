"""What the processes of a crew do. Each reports before and after what matters, and expects to be killed."""

import asyncio
import fcntl
import json
import os
import random
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from holdfast.kernel.durable import DURABLE
from holdfast.kernel.job import Job, Spec
from holdfast.kernel.move import Change, move
from holdfast.kernel.outcome import Done
from holdfast.kernel.settle import settle
from holdfast.store.port import Lease
from tests.load.sites import Site, new_id
from tests.tables import driver_of


class Report:
    """One line per write, straight to the file: a kill takes nothing that was said."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND)

    def __call__(self, word: str, *rest: Any) -> None:
        os.write(self._file, json.dumps([word, *rest]).encode() + b"\n")


def at_the_gate(gate: str) -> None:
    with Path(gate).open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)


def success(jobs: Sequence[Job], owner: str, result: str = "1") -> list[Change]:
    settled = [settle(DURABLE, job, Done(result)) for job in jobs]
    return [Change(DURABLE, settled[0].path, owner, [one.move for one in settled], owner)]


async def claimer(report: Report, site: Site, name: str, gate: str, batch: int) -> None:
    """Claim and finish until there is nothing left."""
    store = site.open()
    await store.now_ms()
    report("ready")
    at_the_gate(gate)
    empty = 0
    while empty < 3:
        jobs = await store.jobs.claim(["default"], batch, name)
        empty = 0 if jobs else empty + 1
        if not jobs:
            await asyncio.sleep(0.02)
            continue
        report("claimed", [(job.id, job.attempt) for job in jobs])
        applied = await store.jobs.apply(success(jobs, name))
        report("finished", sorted(applied.versions), len(applied.refused))
    await store.close()


async def worker(report: Report, site: Site, name: str, gate: str, batch: int, hold_ms: int, seed: int) -> None:
    """Claim in batches, hold a while, finish, for ever: there is only one way out."""
    chance = random.Random(seed)
    store = site.open()
    while True:
        jobs = await store.jobs.claim(["default"], batch, name)
        if not jobs:
            await asyncio.sleep(0.02)
            continue
        report("claimed", [(job.id, job.attempt) for job in jobs])
        await asyncio.sleep(chance.random() * hold_ms / 1000)
        applied = await store.jobs.apply(success(jobs, name))
        report("finished", sorted(applied.versions), [(why.job_id, why.why) for why in applied.refused])


async def holder(report: Report, site: Site, name: str, gate: str, batch: int) -> None:
    """Claim once, then finish what was claimed when the gate opens."""
    store = site.open()
    jobs = await store.jobs.claim(["default"], batch, name)
    report("claimed", [(job.id, job.attempt) for job in jobs])
    at_the_gate(gate)
    report("finishing")
    applied = await store.jobs.apply(success(jobs, name, '"late"'))
    report("finished", sorted(applied.versions), [(why.job_id, why.why) for why in applied.refused])
    changes = move(DURABLE, jobs, "fail", actor=name, owner=name)
    applied = await store.jobs.apply(changes)
    report("failed", sorted(applied.versions), [(why.job_id, why.why) for why in applied.refused])
    lost = await store.jobs.renew(name, [Lease(job.id, job.attempt) for job in jobs])
    report("renewed", lost)
    await store.close()


async def submitter(report: Report, site: Site, name: str, gate: str, keys: int) -> None:
    """Submit one job under each key, all keys in an order of its own."""
    store = site.open()
    await store.now_ms()
    report("ready")
    at_the_gate(gate)
    order = list(range(keys))
    random.Random(name).shuffle(order)
    for start in range(0, keys, 5):
        batch = order[start : start + 5]
        made = [Spec(new_id(), "durable", "work", key=f"key-{n}", payload=f'"{name}"') for n in batch]
        answers = await store.jobs.submit(made)
        report("got", [(n, *answer) for n, answer in zip(batch, answers, strict=True)])
        if start == 0:
            await asyncio.sleep(0.5)  # until all have begun: who is let in first must not win every key
    await store.close()


async def migrator(report: Report, site: Site, name: str, gate: str) -> None:
    store = site.open()
    report("ready")
    at_the_gate(gate)
    report("migrated", await store.migrate())
    await store.close()


async def ddl(report: Report, site: Site, name: str, gate: str, text: str) -> None:
    """Run one migration of the test's own."""
    store = site.open()
    report("ready")
    await driver_of(store).run_ddl(text, "9999_of_the_test")
    report("migrated")
    await store.close()


async def locker(report: Report, site: Site, name: str, gate: str, hold_ms: int) -> None:
    """Hold SQLite's write lock for a while."""
    import sqlite3

    connection = sqlite3.connect(site.address, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    report("locked")
    await asyncio.sleep(hold_ms / 1000)
    report("unlocking")
    connection.execute("ROLLBACK")


Task = Callable[..., Coroutine[Any, Any, None]]
TASKS: dict[str, Task] = {task.__name__: task for task in (claimer, worker, holder, submitter, migrator, ddl, locker)}
