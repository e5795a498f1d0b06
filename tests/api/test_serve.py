"""A real server in the engine's loop: refusals before it starts, limits on the wire, and how it goes down."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from holdfast import Engine
from holdfast.api.access.keys import Scope, make_key
from holdfast.api.running import Service, WorkerSettings
from holdfast.api.settings import ApiSettings
from holdfast.config import ConfigError
from tests.api.shell import let_in


@pytest.fixture
def engine(sqlite_url: str) -> Iterator[Engine]:
    made = Engine(sqlite_url)
    yield made
    made.close()


@contextmanager
def served(engine: Engine, work: WorkerSettings | None = None, **settings: Any) -> Iterator[tuple[Service, str]]:
    service = Service(engine._inside, ApiSettings(port=0, **settings), work, chores=False)
    url = engine._inside.portal.call(service.start(), 30)
    try:
        yield service, url
    finally:
        engine._inside.portal.call(service.stop(), 30)


def spoken(url: str, request: bytes, timeout_s: float = 10.0) -> bytes:
    """What a server answers to bytes, until it closes the connection or has said all of a short answer."""
    host, _, port = url.removeprefix("http://").rpartition(":")
    with socket.create_connection((host, int(port)), timeout_s) as connection:
        connection.sendall(request)
        answer = b""
        while chunk := connection.recv(65_536):
            answer += chunk
        return answer


def test_it_listens_where_it_says(engine: Engine) -> None:
    with served(engine) as (service, url):
        answer = httpx.get(f"{url}/healthz", trust_env=False)
        assert answer.status_code == 200
        assert "server" not in answer.headers
        before = service.has_ended
    assert (before, service.has_ended) == (False, True)
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/healthz", trust_env=False)


def test_small_answers_are_sent_at_once(engine: Engine) -> None:
    with served(engine) as (_, url), httpx.Client(trust_env=False) as client:
        took_s = []
        for _ in range(20):
            began_s = time.perf_counter()
            client.get(f"{url}/healthz")
            took_s.append(time.perf_counter() - began_s)
    # Nagle's delay would make each of them 40 ms.
    assert min(took_s) < 0.03


def test_a_port_that_is_taken(engine: Engine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        service = Service(engine._inside, ApiSettings(port=taken.getsockname()[1]))
        with pytest.raises(ConfigError, match="--port") as refused:
            engine._inside.portal.call(service.start(), 30)
    assert refused.value.field == "port"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "jobs.example.org"])
def test_open_to_others_without_a_key_it_does_not_start(engine: Engine, host: str) -> None:
    with pytest.raises(ConfigError, match="holdfast key create") as refused:
        engine._inside.portal.call(Service(engine._inside, ApiSettings(host=host, port=0)).start(), 30)
    assert refused.value.field == "host"


def test_with_a_key_it_goes_on_to_bind_and_a_dead_key_is_none(engine: Engine) -> None:
    # 192.0.2.7 is nobody's address, so that nothing is bound: what fails is the next step.
    service = Service(engine._inside, ApiSettings(host="192.0.2.7", port=0))

    async def make(lives_ms: int | None) -> None:
        await make_key(await engine._inside.opened(), "ops", Scope.READ, lives_ms=lives_ms)

    engine._inside.portal.call(make(1))
    engine._inside.portal.call(asyncio.sleep(0.01))
    with pytest.raises(ConfigError, match="holdfast key create"):
        engine._inside.portal.call(service.start(), 30)
    engine._inside.portal.call(make(None))
    with pytest.raises(ConfigError, match=r"cannot listen on 192\.0\.2\.7"):
        engine._inside.portal.call(service.start(), 30)


def test_a_host_that_nobody_knows(engine: Engine) -> None:
    async def make() -> None:
        await make_key(await engine._inside.opened(), "ops", Scope.READ)

    engine._inside.portal.call(make())
    with pytest.raises(ConfigError, match="no address of this machine"):
        engine._inside.portal.call(Service(engine._inside, ApiSettings(host="host.invalid", port=0)).start(), 30)


def test_a_large_body_is_refused_before_it_is_sent(engine: Engine) -> None:
    with served(engine) as (_, url):
        head = b"POST /api/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        answer = spoken(url, head + b"Content-Length: 999999999\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 413")
        assert b'"code":"too_large"' in answer


@pytest.mark.parametrize(
    "request_line",
    [b"GET  HTTP/1.1", b"\x00\x01\x02", b"GET / HTTP/9.9", b"GET /" + b"x" * 100_000 + b" HTTP/1.1"],
)
def test_what_is_no_http_ends_the_connection_and_nothing_else(engine: Engine, request_line: bytes) -> None:
    with served(engine) as (_, url):
        assert not spoken(url, request_line + b"\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").startswith(
            b"HTTP/1.1 5"
        )
        assert httpx.get(f"{url}/healthz", trust_env=False).status_code == 200


def test_what_is_under_way_ends_before_the_server_does(engine: Engine) -> None:
    inside, go = threading.Event(), asyncio.Event()
    answers: list[httpx.Response] = []
    service = Service(engine._inside, ApiSettings(port=0), chores=False)
    url = engine._inside.portal.call(service.start(), 30)

    @service.app.get("/api/slow")
    async def slow() -> str:
        inside.set()
        await go.wait()
        return "done"

    let_in(service.app)
    caller = threading.Thread(target=lambda: answers.append(httpx.get(f"{url}/api/slow", trust_env=False)))
    caller.start()
    assert inside.wait(10)
    ending = asyncio.run_coroutine_threadsafe(service.stop(), engine._inside.portal.loop)
    engine._inside.portal.call(asyncio.sleep(0.3))
    assert not ending.done()
    engine._inside.portal.loop.call_soon_threadsafe(go.set)
    ending.result(10)
    caller.join(10)
    assert (answers[0].status_code, answers[0].json()) == (200, "done")


def test_what_never_ends_is_cut_off_when_hurried(engine: Engine) -> None:
    inside = threading.Event()
    service = Service(engine._inside, ApiSettings(port=0, grace_s=60), chores=False)
    url = engine._inside.portal.call(service.start(), 30)

    @service.app.get("/api/stuck")
    async def stuck() -> str:
        inside.set()
        await asyncio.Event().wait()
        return "never"

    let_in(service.app)
    answers: list[httpx.Response] = []
    caller = threading.Thread(target=lambda: answers.append(httpx.get(f"{url}/api/stuck", trust_env=False)))
    caller.start()
    assert inside.wait(10)
    ending = asyncio.run_coroutine_threadsafe(service.stop(), engine._inside.portal.loop)
    engine._inside.portal.call(asyncio.sleep(0.3))
    assert not ending.done()
    engine._inside.portal.loop.call_soon_threadsafe(service.hurry)
    ending.result(10)
    caller.join(10)
    assert (answers[0].status_code, answers[0].json()["code"]) == (503, "unavailable")


def test_a_worker_beside_it_does_the_jobs(engine: Engine) -> None:
    @engine.task(queue="sums")
    def add(a: int, b: int) -> int:
        return a + b

    with served(engine, WorkerSettings(concurrency=2)):
        assert add.submit(40, 2).result(timeout=30) == 42
