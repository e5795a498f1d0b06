"""GET /api/jobs/{id}/stream: one job's transitions, progress and words, until it is over."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from holdfast import Context, Engine
from holdfast.api.jobs import stream as job_stream
from holdfast.store.port import Signal
from tests.api.streaming import Message, Served, app_with_streams, reading, serving
from tests.engines import address
from tests.working import events_of, until


@pytest.fixture
def hold() -> threading.Event:
    """Jobs of `work` end when it is set."""
    return threading.Event()


@pytest.fixture(params=["sqlite", "postgres"])
def served(
    request: pytest.FixtureRequest, tmp_path: Path, hold: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Served]:
    monkeypatch.setattr(job_stream, "HEAR_EVERY_S", 0.05)
    engine = Engine(address(request, tmp_path))

    @engine.task(lifecycle="workflow")
    def work(ctx: Context, n: int) -> int:
        ctx.progress(1, n)
        while not hold.wait(0.01):
            ctx.check()
        ctx.progress(n, n)
        return n

    with serving(engine, app_with_streams(engine)) as made:
        yield made
    engine.close()


async def say(engine: Engine, job_id: str, text: str) -> None:
    store = await engine._inside.opened()
    await store.jobs.signal(
        [Signal(job_id, 1, "job_log", "w", f'{{"event":"{text}"}}'), Signal(job_id, 1, "beat", "w")]
    )


async def test_a_job_is_followed_to_its_end(served: Served, hold: threading.Event) -> None:
    engine = served.engine
    job = await asyncio.to_thread(engine.submit, "work", {"n": 4})
    client = httpx.AsyncClient(base_url=served.url, timeout=30)
    async with client, reading(client, f"/api/jobs/{job.id}/stream") as reader:
        [first] = await reader.take(1)
        assert (first.event, first.data["to"], first.id) == ("transition", "CREATED", "1.0")
        with engine.worker():
            running = await reader.take(1)
            assert [m.data["to"] for m in running] == ["ACTIVE"]
            await engine._inside.portal.hop(say(engine, job.id, "half-way"))
            hold.set()
            rest = await reader.rest()
        kinds = {message.event for message in rest}
        assert kinds == {"progress", "log", "transition", "end"}
        transitions = [m.data for m in [first, *running, *rest] if m.event == "transition"]
        assert [t["seq"] for t in transitions] == [event.seq for event in events_of(engine, job.id)]
        assert [m.data["event"] for m in rest if m.event == "log"] == ["half-way"]
        assert [m.data["done"] for m in rest if m.event == "progress"][-1] == 4
        assert (rest[-1].event, rest[-1].data) == ("end", {"state": "COMPLETED", "canonical_state": "succeeded"})


async def test_it_is_resumed_anywhere_without_a_gap_or_a_repeat(served: Served, hold: threading.Event) -> None:
    engine = served.engine
    hold.set()
    with engine.worker():
        job = await asyncio.to_thread(engine.submit, "work", {"n": 2})
        await asyncio.to_thread(job.wait, 10)
        for n in range(3):
            await engine._inside.portal.hop(say(engine, job.id, f"line {n}"))
    path = f"/api/jobs/{job.id}/stream"
    client = httpx.AsyncClient(base_url=served.url, timeout=30)
    async with client:
        async with reading(client, path) as reader:
            whole = await reader.rest()
        assert len(whole) >= 7
        for n in range(len(whole) - 1):
            async with reading(client, path, last_id=whole[n].id) as reader:
                assert await reader.rest() == whole[n + 1 :]
        # Once everything has been told, a browser is told not to come back.
        assert (await client.get(path, headers={"Last-Event-ID": str(whole[-1].id)})).status_code == 204


async def test_a_stream_cut_between_all_messages_is_complete(served: Served, hold: threading.Event) -> None:
    engine = served.engine
    job = await asyncio.to_thread(engine.submit, "work", {"n": 2})
    path = f"/api/jobs/{job.id}/stream"
    got: list[Message] = []
    last: str | None = None
    client = httpx.AsyncClient(base_url=served.url, timeout=30)
    with engine.worker():
        async with client:
            while not got or got[-1].event != "end":
                async with reading(client, path, last_id=last) as reader:
                    got += await reader.take(1)
                    last = reader.last_id
                if len(got) == 2:
                    for n in range(10):
                        await engine._inside.portal.hop(say(engine, job.id, str(n)))
                    hold.set()
    assert [m.data["seq"] for m in got if m.event == "transition"] == [e.seq for e in events_of(engine, job.id)]
    assert [m.data["event"] for m in got if m.event == "log"] == [str(n) for n in range(10)]
    await asyncio.to_thread(until, lambda: not served.hub.followers, 5)


async def test_a_cancelled_job_ends_its_stream(served: Served) -> None:
    engine = served.engine
    job = await asyncio.to_thread(engine.submit, "work", {"n": 2})
    client = httpx.AsyncClient(base_url=served.url, timeout=30)
    async with client, reading(client, f"/api/jobs/{job.id}/stream") as reader:
        await reader.take(1)
        await asyncio.to_thread(job.cancel)
        assert [m.event for m in await reader.rest()] == ["transition", "end"]


async def test_what_makes_no_sense_is_refused(served: Served) -> None:
    job = await asyncio.to_thread(served.engine.submit, "work", {"n": 2})
    async with httpx.AsyncClient(base_url=served.url) as client:
        missing = await client.get("/api/jobs/01900000-0000-7000-8000-000000000000/stream")
        assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
        for params, headers in (({"after": "x"}, {}), ({}, {"Last-Event-ID": "1"}), ({"limit": "1"}, {})):
            wrong = await client.get(f"/api/jobs/{job.id}/stream", params=params, headers=headers)
            assert wrong.status_code == 400, wrong.text
            assert wrong.json()["field"] in ("after", "Last-Event-ID", "limit")
