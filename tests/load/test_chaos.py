"""Ten thousand jobs that fail, retry, are cancelled, expire and crash, while their workers are killed all the time."""

import asyncio
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from holdfast import Engine, HoldfastError
from holdfast.audit.auditor import audit
from holdfast.kernel.state import OVER, RANK
from holdfast.runtime.task import Task
from tests.working import WorkerProcess

JOBS = 10_000
HARD_END_S = 150.0
KILL_EVERY_S = 1.2
WORKERS = 2


@pytest.mark.slow
@pytest.mark.rule("D10", "D12", "D07")
def test_every_job_ends_and_every_step_is_by_the_table(app: Engine, database: str, tmp_path: Path) -> None:
    chance = random.Random(20_261_116)
    ids = _submit(app, chance)
    workers = [WorkerProcess(database, tmp_path / f"log{n}", 50, 5.0) for n in range(WORKERS)]
    kills = 0
    began_s = time.monotonic()
    try:
        while (left := _left(app, len(ids))) and time.monotonic() - began_s < HARD_END_S:
            time.sleep(KILL_EVERY_S)
            if kills < 3 or left > JOBS / 100:
                victim = chance.randrange(WORKERS)
                workers[victim].kill()
                kills += 1
                workers[victim] = WorkerProcess(database, tmp_path / f"log-{kills}", 50, 5.0)
            _cancel_some(app, chance, ids)
    finally:
        for worker in workers:
            worker.kill()
    states = _states(app)
    print(f"\n{sum(states.values())} jobs, {kills} kills, {time.monotonic() - began_s:.1f} s: {dict(states)}")
    assert kills >= 3
    assert sum(states.values()) == len(ids) == JOBS
    assert {state for state in states if RANK[state] < OVER} == set(), "every job has ended"
    assert set(states) >= {"succeeded", "failed", "cancelled", "dead_lettered", "expired"}
    report = asyncio.run(audit(database, processes=False))
    assert (report.jobs, report.total_violations) == (JOBS, 0), report.violations[:5]


def _submit(app: Engine, chance: random.Random) -> list[str]:
    dice, adice, die = (app._inside.registry.get(name) for name in ("dice", "adice", "die"))
    ids: list[str] = []
    plan: list[tuple[Task[Any, Any], int, dict[str, Any]]] = [
        (Task(app._inside, dice), JOBS * 55 // 100, {}),
        (Task(app._inside, adice), JOBS * 43 // 100, {}),
        (Task(app._inside, adice), JOBS // 100, {"delay": "1h", "expires": "2s"}),
        (Task(app._inside, dice), JOBS * 9 // 1_000, {"delay": "5s"}),
        (Task(app._inside, die), JOBS // 1_000, {}),
    ]
    for task, count, options in plan:
        handles = task.options(**options).submit_many([(chance.randrange(10**6),) for _ in range(count)])
        ids += [handle.id for handle in handles]
    chance.shuffle(ids)
    return ids


def _cancel_some(app: Engine, chance: random.Random, ids: list[str]) -> None:
    for job_id in chance.sample(ids, 100):
        try:
            app.cancel_job(job_id, "chaos", mode=chance.choice(["soft", "hard"]))
        except HoldfastError:
            continue  # over already


def _states(app: Engine) -> Counter[str]:
    async def count() -> Counter[str]:
        found: Counter[str] = Counter()
        for (_, state), number in (await (await app._inside.opened()).reads.counts(cap=10 * JOBS)).items():
            found[state] += number
        return found

    return app._inside.portal.call(count())


def _left(app: Engine, total: int) -> int:
    return total - sum(number for state, number in _states(app).items() if RANK[state] >= OVER)
