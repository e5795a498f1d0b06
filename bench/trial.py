"""One measurement: one contender, one scenario, one fresh database."""

from __future__ import annotations

import gc
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TypeVar, cast

from uuid_utils import uuid7

from bench.contender import Contender, Entry, Stepwise
from bench.meter import Reading, metered
from bench.scenario import Scenario
from bench.site import Ground, Site

C = TypeVar("C", bound=Contender)
LOAD_BATCH = 1_000
SLICE = 100_000
"""So many jobs are prepared at once: a million would make the client's memory part of the measurement."""

EVENTS_WHEN_DONE = 4


async def trial(ground: Ground, entry: Entry, scenario: Scenario, limit_s: float) -> dict[str, Reading]:
    """The reading of each phase. A load or a drain ends after `limit_s` and says how far it came."""
    async with AsyncExitStack() as stack:
        site = await stack.enter_async_context(ground.fresh())
        if scenario.held:
            await stack.enter_async_context(ground.held(site))
        if scenario.steps:
            readings = await _steps(ground, site, entry, scenario, limit_s)
        else:
            readings = await fill_and_drain(ground, site, entry, scenario, limit_s)
        await _check(ground, site, readings)
        readings.pop("filled", None)
        return readings


async def _steps(ground: Ground, site: Site, entry: Entry, scenario: Scenario, limit_s: float) -> dict[str, Reading]:
    async with _opened(entry(site, result=scenario.result)) as opened:
        contender = cast(Stepwise, opened)
        filled = await _load(ground, contender, scenario.queued - scenario.jobs, LOAD_BATCH, limit_s)
        submit = await _load(ground, contender, scenario.jobs, scenario.batch, limit_s)
        taken: list[Sequence[Any]] = []

        async def claim() -> int:
            left = scenario.jobs
            while left and (rows := await contender.claim(min(scenario.batch, left))):
                taken.append(rows)
                left -= len(rows)
            return scenario.jobs - left

        async def finish() -> int:
            for rows in taken:
                await contender.finish(rows)
            return sum(map(len, taken))

        claimed = await _measured(ground, claim)
        finished = await _measured(ground, finish)
    return {"filled": filled, "submit": submit, "claim": claimed, "finish": finished}


async def fill_and_drain(
    ground: Ground, site: Site, entry: Entry, scenario: Scenario, limit_s: float
) -> dict[str, Reading]:
    """Load what the scenario queues, then drain it over connections that were opened afterwards."""
    async with _opened(entry(site, result=scenario.result)) as loader:
        load = await _load(ground, loader, scenario.queued, LOAD_BATCH, limit_s)
    # New connections: a worker that starts now knows nothing of what was loaded.
    async with _opened(entry(site, result=scenario.result)) as worker:
        until_s = time.monotonic() + limit_s
        drain = await _measured(ground, lambda: worker.drain(scenario.batch, scenario.jobs, until_s))
    return {"load": load, "drain": drain}


async def _load(ground: Ground, contender: Contender, jobs: int, batch: int, limit_s: float) -> Reading:
    total = Reading()
    for start in range(0, jobs, SLICE):
        if total.wall_s > limit_s:
            break
        batches = [contender.prepare(ids) for ids in _ids(min(SLICE, jobs - start), batch)]

        async def submit(batches: list[Any] = batches, count: int = min(SLICE, jobs - start)) -> int:
            for prepared in batches:
                await contender.submit(prepared)
            return count

        total += await _measured(ground, submit)
    return total


def _ids(jobs: int, batch: int) -> Iterable[list[str]]:
    ids = (str(uuid7()) for _ in range(jobs))
    while chunk := list(itertools.islice(ids, batch)):
        yield chunk


async def _measured(ground: Ground, work: Callable[[], Awaitable[int]]) -> Reading:
    gc.collect()
    with metered(ground.cpu_s) as reading:
        reading.jobs = await work()
    return reading


@asynccontextmanager
async def _opened(contender: C) -> AsyncIterator[C]:
    await contender.open()
    try:
        yield contender
    finally:
        await contender.close()


async def _check(ground: Ground, site: Site, readings: dict[str, Reading]) -> None:
    """What was measured did happen: a rate of work that was not done is no rate."""
    into = sum(readings[phase].jobs for phase in ("filled", "submit", "load") if phase in readings)
    done = sum(readings[phase].jobs for phase in ("finish", "drain") if phase in readings)
    found, events = await ground.counts(site)
    assert found == done, f"{done} jobs were finished and {found} are in the table"
    expected = into + done * (EVENTS_WHEN_DONE - 1)
    assert events == expected, f"{events} events are in the table instead of {expected}"
