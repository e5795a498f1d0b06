"""What the engine can do to jobs, from an event loop of the caller's own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import Engine, PermanentError
from holdfast.testing import drain
from tests.engines import STORES, address, engine_on


@pytest.fixture(params=STORES)
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    with engine_on(address(request, tmp_path)) as engine:
        yield engine


async def test_every_command_has_its_asynchronous_form(app: Engine) -> None:
    """From a loop of the caller's own, which is not the one that the database's connections live in."""

    @app.task(lifecycle="workflow")
    def step() -> None: ...

    @app.task(on_exhausted="dead_letter")
    def poison(amount: str) -> float:
        if amount == "x":
            raise PermanentError("no number")
        return float(amount)

    job, dead = await step.asubmit(), await poison.asubmit("x")
    assert await app.acancel_job(job.id, "not now") == "CANCELLED"
    assert (await app.aget_job(job.id)).state == "CANCELLED"
    assert [each.id for each in await app.alist_jobs(state="CANCELLED")] == [job.id]
    assert await app.aresume_job(job.id) == "CREATED"
    assert (await app.aretry_job(job.id)).id == job.id
    await asyncio.to_thread(drain, app)
    [letter] = await app.adead_letters()
    again = await app.areplay(letter.job_id, edits={"amount": "2.5"})
    await asyncio.to_thread(drain, app)
    assert (letter.job_id, await again.aresult(0)) == (dead.id, 2.5)
    await app.apause_queue("default", "too hot")
    assert [await app.aresume_queue("default") for _ in range(2)] == [True, False]
