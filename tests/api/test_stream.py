"""GET /api/events: every transition once and in order, whoever listens, however often the connection breaks."""

from __future__ import annotations

import asyncio
import random
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from holdfast import Context, Engine, PermanentError
from holdfast.api.jobs import events_stream as stream_module
from holdfast.api.jobs.streams import Streams
from holdfast.kernel.event import Event
from holdfast.kernel.log import SPAN
from holdfast.runtime.task import Task
from holdfast.store.read.log import FeedReader
from holdfast.views import follower as follower_module
from tests.api.streaming import Message, Served, app_with_streams, reading, serving
from tests.engines import address
from tests.load.sites import specs
from tests.load.test_feed import connect, submit_on
from tests.working import until


@pytest.fixture(params=["sqlite", "postgres"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    engine = Engine(address(request, tmp_path))

    @engine.task
    def add(a: int, b: int) -> int:
        return a + b

    @engine.task(queue="odd", retries=0)
    def fail(ctx: Context) -> None:
        raise PermanentError("no")

    @engine.task(lifecycle="workflow")
    def flow(n: int) -> int:
        return n

    yield engine
    engine.close()


@pytest.fixture
def served(engine: Engine) -> Iterator[Served]:
    with serving(engine, app_with_streams(engine)) as served:
        yield served


async def all_events(engine: Engine) -> list[Event]:
    return await (await engine._inside.opened()).reads.log(0, 1_000_000)


def log_of(engine: Engine) -> list[Event]:
    return engine._inside.portal.call(all_events(engine))


def ids(messages: list[Message]) -> list[int]:
    return [int(message.id or 0) for message in messages]


async def test_what_happens_is_told_in_order_with_its_labels(served: Served) -> None:
    flow = served.engine._inside.registry.get("flow")
    assert flow is not None
    async with httpx.AsyncClient(base_url=served.url) as client, reading(client, "/api/events") as reader:
        job = await asyncio.to_thread(served.engine.submit, "flow", {"n": 1})
        first = (await reader.take(1))[0]
        assert first.data["job_id"] == job.id
        assert (first.data["to"], first.data["to_canonical"]) == ("CREATED", "queued")
        assert (first.data["task"], first.data["queue"], first.data["lifecycle"]) == ("flow", "default", "workflow")
        assert first.data["correlation_id"] == job.id
        assert int(first.id or 0) == first.data["id"]
        with served.engine.worker():
            await asyncio.to_thread(job.wait, 10)
        more = await reader.take(len(log_of(served.engine)) - 1)
        assert [message.data["to"] for message in more][-1] == "COMPLETED"
        assert ids([first, *more]) == [event.pos for event in log_of(served.engine)]


async def test_a_stream_begins_now_unless_it_is_told_where(served: Served) -> None:
    add = served.engine
    old = [await asyncio.to_thread(add.submit, "add", {"a": 1, "b": n}) for n in range(3)]
    async with httpx.AsyncClient(base_url=served.url) as client:
        async with reading(client, "/api/events") as reader:
            new = await asyncio.to_thread(add.submit, "add", {"a": 1, "b": 9})
            assert [message.data["job_id"] for message in await reader.take(1)] == [new.id]
        async with reading(client, "/api/events", after=0) as reader:
            found = [message.data["job_id"] for message in await reader.take(4)]
            assert found == [job.id for job in [*old, new]]
        async with reading(client, "/api/events", last_id=str(log_of(add)[1].pos), after=0) as reader:
            assert [message.data["job_id"] for message in await reader.take(2)] == [old[2].id, new.id]


async def test_filters(served: Served) -> None:
    engine = served.engine
    added = engine.submit("add", {"a": 1, "b": 2})
    failed = engine.submit("fail")
    flowed = engine.submit("flow", {"n": 1})
    with engine.worker(queues=("default", "odd")):
        for job in (added, failed, flowed):
            job.wait(20)
    log = log_of(engine)

    async def found(client: httpx.AsyncClient, **params: Any) -> list[tuple[str, str]]:
        wanted = int(params.pop("count"))
        async with reading(client, "/api/events", after=0, **params) as reader:
            return [(m.data["job_id"], m.data["to"]) for m in await reader.take(wanted)]

    of_added = [e for e in log if e.job_id == added.id]
    async with httpx.AsyncClient(base_url=served.url) as client:
        got = await found(client, job=added.id, count=len(of_added))
        assert got == [(added.id, e.to_state) for e in of_added]
        assert {job for job, _ in await found(client, task="add", count=len(of_added))} == {added.id}
        assert {job for job, _ in await found(client, queue="odd", count=2)} == {failed.id}
        assert {job for job, _ in await found(client, lifecycle="workflow", count=2)} == {flowed.id}
        assert await found(client, state="COMPLETED", count=1) == [(flowed.id, "COMPLETED")]
        both = await found(client, state="succeeded", count=2)
        assert sorted(both) == sorted([(added.id, "succeeded"), (flowed.id, "COMPLETED")])
        several = await found(client, state=["failed", "COMPLETED"], count=2)
        assert {job for job, _ in several} == {failed.id, flowed.id}
        assert await found(client, state="succeeded", task="flow", count=1) == [(flowed.id, "COMPLETED")]


@pytest.mark.parametrize(
    ("params", "field", "says"),
    [
        ({"state": "nowhere"}, "state", "COMPLETED"),
        ({"lifecycle": "nope"}, "lifecycle", "durable"),
        ({"job": "7"}, "job", "UUID"),
        ({"after": "-1"}, "after", "id of an event"),
        ({"after": "9" * 30}, "after", "id of an event"),
        ({"after": "99"}, "after", "ends at 0"),
        ({"tsak": "add"}, "tsak", "no parameter"),
    ],
)
async def test_what_makes_no_sense_is_refused(served: Served, params: dict[str, str], field: str, says: str) -> None:
    async with httpx.AsyncClient(base_url=served.url) as client:
        answer = await client.get("/api/events", params=params)
        assert answer.status_code == 400
        assert answer.headers["content-type"] == "application/problem+json"
        problem = answer.json()
        assert problem["field"] == field
        assert says in problem["detail"] + str(problem.get("allowed"))


@pytest.mark.slow
async def test_a_stream_that_is_cut_100_times_under_load_misses_and_repeats_nothing(served: Served) -> None:
    chance = random.Random(7)
    engine = served.engine
    done = asyncio.Event()
    cuts = 0
    got: list[int] = []

    def load() -> None:
        task = engine._inside.registry.get("add")
        assert task is not None
        with engine.worker(concurrency=8):
            until_s = time.monotonic() + 120
            while cuts < 100 and time.monotonic() < until_s:
                jobs = [engine.submit("add", {"a": n, "b": 1}) for n in range(20)]
                jobs[-1].wait(30)

    async def follow() -> int:
        """Where the log ended when the first message after the load came: all up to there was to be told."""
        nonlocal cuts
        last: str | None = "0"
        async with httpx.AsyncClient(base_url=served.url, timeout=30) as client:
            end: int | None = None
            while end is None or not got or got[-1] < end:
                async with reading(client, "/api/events", last_id=last) as reader:
                    left = chance.choice((1, 2, 7, 40, 150)) if not done.is_set() else 1_000_000
                    async for message in reader:
                        got.append(int(message.id or 0))
                        left -= 1
                        if done.is_set() and end is None:
                            end = (await hop(engine))[-1].pos
                            left = 1_000_000
                        if left <= 0 or (end is not None and got[-1] >= end):
                            break
                    last = reader.last_id
                cuts += 1
        return end

    following = asyncio.create_task(follow())
    await asyncio.to_thread(load)
    done.set()
    await asyncio.to_thread(engine.submit, "add", {"a": 0, "b": 0})
    async with asyncio.timeout(60):
        end = await following
    assert cuts >= 100
    assert got == [event.pos for event in log_of(engine) if event.pos <= end]


async def hop(engine: Engine) -> list[Event]:
    return await engine._inside.portal.hop(all_events(engine))


@pytest.mark.slow
async def test_who_resumes_from_behind_the_ring_gets_everything(engine: Engine) -> None:
    hub = engine._inside.portal.call(_made(engine, ring_events=64))
    with serving(engine, app_with_streams(engine, hub)) as served:
        client = httpx.AsyncClient(base_url=served.url, timeout=30)
        async with client, reading(client, "/api/events"):  # the reader runs from here on, and its ring turns over
            await asyncio.to_thread(add_of(engine).submit_many, [(n, 1) for n in range(3_000)])
            log = log_of(engine)
            assert len(log) == 3_000
            async with reading(client, "/api/events", last_id="0") as reader:
                assert ids(await reader.take(3_000)) == [event.pos for event in log]
                later = await asyncio.to_thread(engine.submit, "add", {"a": 1, "b": 1})
                assert [m.data["job_id"] for m in await reader.take(1)] == [later.id]
            async with reading(client, "/api/events", last_id=str(log[1234].pos), state="queued") as reader:
                assert ids(await reader.take(1_765)) == [event.pos for event in log[1235:]]


def add_of(engine: Engine) -> Task[..., Any]:
    return Task(engine._inside, engine._inside.registry.get("add"))


async def _made(engine: Engine, **options: Any) -> Streams:
    return Streams(engine._inside, **options)


@pytest.mark.slow
async def test_50_clients_have_one_reader(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = 0
    real = FeedReader.next

    async def counted(self: FeedReader, limit: int = 1000) -> list[Event]:
        nonlocal reads
        reads += 1
        return await real(self, limit)

    monkeypatch.setattr(FeedReader, "next", counted)
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=served.url, timeout=30, limits=limits) as client:
        ready = asyncio.Semaphore(0)

        async def one() -> list[int]:
            async with reading(client, "/api/events") as reader:
                ready.release()
                return ids(await reader.take(40))

        clients = [asyncio.create_task(one()) for _ in range(50)]
        for _ in clients:
            await ready.acquire()
        # The head of an answer is out a moment before its body begins.
        await asyncio.to_thread(until, lambda: served.hub.followers == 50, 5)
        before, began_s = reads, time.monotonic()
        for n in range(40):
            await asyncio.to_thread(served.engine.submit, "add", {"a": n, "b": 0})
        found = await asyncio.gather(*clients)
        took_s = time.monotonic() - began_s
    assert all(each == [event.pos for event in log_of(served.engine)] for each in found)
    # One look per submit at most, and one every LOOK_EVERY_S: 50 readers of their own would make 50 times as many.
    assert reads - before <= 40 * 2 + took_s / follower_module.GATHER_S
    assert reads - before < 400
    await gone(served)


async def gone(served: Served) -> None:
    """Disconnected clients are noticed: nobody follows any more."""
    await asyncio.to_thread(until, lambda: not served.hub.followers, 5)


@pytest.mark.slow
async def test_a_slow_client_is_cut_and_resumes(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower_module, "SLOW_S", 0.1)
    hub = engine._inside.portal.call(_made(engine, ring_events=256))
    with serving(engine, app_with_streams(engine, hub)) as served:
        task = add_of(engine)
        host, port = served.url.removeprefix("http://").split(":")
        with socket.socket() as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            slow.connect((host, int(port)))
            slow.sendall(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"200 OK" in await asyncio.to_thread(slow.recv, 100)
            # Nothing is read while far more than the ring, the socket and the transport hold goes by.
            for n in range(20):
                await asyncio.to_thread(task.submit_many, [(n, m) for m in range(1_000)])
            await asyncio.sleep(2 * follower_module.SLOW_S)
            assert served.hub.followers == 1
            heard = await asyncio.to_thread(_drain, slow)
        assert b": too slow" in heard
        last = heard.rpartition(b"\nid: ")[2].split(b"\n")[0].decode()
        log = log_of(engine)
        behind = [event.pos for event in log if event.pos > int(last)]
        assert 0 < len(behind) < len(log)
        client = httpx.AsyncClient(base_url=served.url, timeout=30)
        async with client, reading(client, "/api/events", last_id=last) as reader:
            assert ids(await reader.take(len(behind))) == behind


def _drain(slow: socket.socket) -> bytes:
    slow.settimeout(20)
    found = b""
    while b": too slow" not in found and b": ping" not in found and (more := slow.recv(65_536)):
        found += more
    return found


@pytest.mark.slow
async def test_a_client_that_takes_nothing_at_all_is_let_go(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_module, "SEND_TIMEOUT_S", 0.2)
    with serving(engine, app_with_streams(engine)) as served:
        task = add_of(engine)
        host, port = served.url.removeprefix("http://").split(":")
        with socket.socket() as stuck:
            stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            stuck.connect((host, int(port)))
            stuck.sendall(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"200 OK" in await asyncio.to_thread(stuck.recv, 100)
            for n in range(12):
                await asyncio.to_thread(task.submit_many, [(n, m) for m in range(1_000)])
            await gone(served)


async def test_streams_are_bounded(engine: Engine) -> None:
    hub = engine._inside.portal.call(_made(engine, max_streams=2))
    with serving(engine, app_with_streams(engine, hub)) as served:
        async with httpx.AsyncClient(base_url=served.url) as client:
            async with reading(client, "/api/events") as one, reading(client, "/api/events") as two:
                for reader in (one, two):
                    async with asyncio.timeout(5):
                        while not reader.comments:
                            await _one_line(reader)
                answer = await client.get("/api/events")
                assert answer.status_code == 503
                assert answer.headers["retry-after"] == "5"
            await gone(served)
            async with reading(client, "/api/events"):
                pass


async def _one_line(reader: Any) -> None:
    line = await anext(reader._lines)
    if line.startswith(": "):
        reader.comments.append(line[2:])


async def test_a_quiet_stream_is_pinged_with_its_position(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower_module, "PING_EVERY_S", 0.05)
    await asyncio.to_thread(served.engine.submit, "add", {"a": 1, "b": 2})
    # The row of the log that the job is in has more places than events: the next row's begin behind them all.
    top = log_of(served.engine)[-1].pos // SPAN * SPAN + SPAN - 1
    text = ""
    client = httpx.AsyncClient(base_url=served.url)
    async with client, asyncio.timeout(10):
        async with client.stream("GET", "/api/events", params={"state": "cancelled"}) as response:
            async for some in response.aiter_text():
                text += some
                if text.count(": ping") >= 2:
                    break
        for last, status in ((top, 200), (top + 1, 400)):
            headers = {"Last-Event-ID": str(last)}
            async with client.stream("GET", "/api/events", headers=headers) as again:
                assert again.status_code == status
    assert text.startswith(f": holdfast\nid: {top}\nretry: 1000\n\n")
    assert f": ping\nid: {top}\n\n" in text


async def test_shutdown_ends_streams_at_once(engine: Engine) -> None:
    with serving(engine, app_with_streams(engine)) as served:
        client = httpx.AsyncClient(base_url=served.url)
        opened = [await client.send(client.build_request("GET", "/api/events"), stream=True) for _ in range(5)]
        began_s = time.monotonic()
    assert time.monotonic() - began_s < 5
    for response in opened:
        assert "going down" in (await response.aread()).decode()
    await client.aclose()


async def test_a_late_commit_on_postgres_is_told_in_its_place(postgres_url: str) -> None:
    """A position that is under way holds back what is above it, for those who listen and for those who come."""
    engine = Engine(postgres_url)
    with serving(engine, app_with_streams(engine)) as served:
        late = await connect(postgres_url)
        await engine._inside.portal.hop(engine._inside.opened())
        transaction = late.transaction()
        await transaction.start()
        first, second = specs(2)
        await submit_on(late, [first])
        client = httpx.AsyncClient(base_url=served.url, timeout=30)
        async with client, reading(client, "/api/events") as before:
            await engine._inside.portal.hop(engine._inside.asubmit_specs([second]))
            async with reading(client, "/api/events") as after:
                with pytest.raises(TimeoutError):
                    await before.take(1, timeout_s=0.5)
                await transaction.commit()
                assert [m.data["job_id"] for m in await after.take(2)] == [first.id, second.id]
        await late.close()
    engine.close()


async def test_a_reader_that_starts_over_an_old_transaction_waits_for_it(postgres_url: str) -> None:
    """The highest position is no place to begin: below it one may still be under way."""
    engine = Engine(postgres_url)
    with serving(engine, app_with_streams(engine)) as served:
        late = await connect(postgres_url)
        await engine._inside.portal.hop(engine._inside.opened())
        transaction = late.transaction()
        await transaction.start()
        first, second = specs(2)
        await submit_on(late, [first])
        await engine._inside.portal.hop(engine._inside.asubmit_specs([second]))
        client = httpx.AsyncClient(base_url=served.url, timeout=30)
        async with client, reading(client, "/api/events") as reader:
            await transaction.commit()
            assert [m.data["job_id"] for m in await reader.take(2)] == [first.id, second.id]
        await late.close()
    engine.close()
