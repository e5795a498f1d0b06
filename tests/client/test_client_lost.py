"""A connection that is cut, before a request arrives or before its answer does: what was asked for happens once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast import Engine
from holdfast.api.app import create_app
from holdfast.runtime.task import Task
from tests.api.streaming import Served, serving
from tests.services.proxy import Cut, Proxy, running_proxy


@pytest.fixture(params=["sqlite", "postgres"])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    sqlite = f"sqlite:///{tmp_path / 'holdfast.db'}"
    engine = Engine(sqlite if request.param == "sqlite" else request.getfixturevalue("postgres_dsn"))
    engine.task(add)
    with serving(engine, create_app(engine._inside)) as made:
        yield made
    engine.close()


def add(a: int, b: int) -> int:
    return a + b


@pytest.fixture
async def proxy(served: Served) -> AsyncIterator[Proxy]:
    host, port = served.url.removeprefix("http://").split(":")
    async with running_proxy(host, int(port)) as made:
        yield made


@pytest.fixture
async def task(proxy: Proxy) -> AsyncIterator[Task[..., Any]]:
    remote = Engine(f"http://127.0.0.1:{proxy.port}")
    yield remote.task(add)
    remote.close()


def has_body(data: bytes) -> bool:
    """A request may come in pieces: this is the last of one that changes something."""
    return data.startswith(b"{") or b"\r\n\r\n{" in data


@pytest.mark.parametrize("how", Cut)
async def test_a_job_is_created_once(served: Served, proxy: Proxy, task: Task[..., Any], how: Cut) -> None:
    for n in range(10):
        proxy.cut(how, has_body)
        job = await task.asubmit(n, 1)
        assert proxy.cuts == n + 1
        jobs = served.engine.list_jobs(limit=500)
        assert jobs[0].id == job.id
        assert len(jobs) == n + 1


@pytest.mark.parametrize("how", Cut)
async def test_a_batch_is_created_once(served: Served, proxy: Proxy, task: Task[..., Any], how: Cut) -> None:
    proxy.cut(how, has_body)
    jobs = await task.asubmit_many([(n, 1) for n in range(20)])
    assert proxy.cuts == 1
    assert {job.id for job in served.engine.list_jobs(limit=500)} == {job.id for job in jobs}


@pytest.mark.parametrize("how", Cut)
async def test_a_change_is_made_once(served: Served, proxy: Proxy, task: Task[..., Any], how: Cut) -> None:
    """The second cancel of a job that is cancelled would be refused: the repeat is not a second one."""
    job = await task.options(delay="1h").asubmit(1, 1)
    proxy.cut(how, has_body)
    assert str(await job.acancel("once")) == "cancelled"
    assert proxy.cuts == 1
    inside = served.engine._inside
    assert [event.reason for event in await inside.portal.hop(inside.aevents(job.id))][1:] == ["once"]


@pytest.mark.slow
async def test_who_follows_misses_and_repeats_nothing(served: Served, proxy: Proxy, task: Task[..., Any]) -> None:
    events = task.engine.portal.aone_by_one(task.engine.follow_batches(0, {}))
    wanted: list[str] = []
    got: list[str] = []
    for n in range(10):
        wanted += [(await task.asubmit(n, m)).id for m in range(5)]
        while len(got) < len(wanted):
            got.append((await anext(events)).job_id)
        await proxy.close()  # every connection, in the middle of whatever it is at
    assert got == wanted
    await events.aclose()  # type: ignore[attr-defined] # a generator, which callers need not know
