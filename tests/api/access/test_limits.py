"""How much is let in: rates, places, bytes and depth, each refused before it costs anything."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from fastapi import Request
from hypothesis import given
from hypothesis import strategies as st

from holdfast.api.access.limits import KEPT_BUCKETS, DepthGauge, RateLimit, Room
from holdfast.api.problems.kinds import Problem
from holdfast.api.settings import ApiSettings
from tests.api.shell import HERE, OPEN_TO_ALL, Shell, let_in, shell_on

LIMIT = 10_000


class Seconds:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def taken(limit: RateLimit, who: str, tries: int) -> int:
    done = 0
    for _ in range(tries):
        try:
            limit.take(who)
        except Problem:
            return done
        done += 1
    return done


def test_a_burst_and_then_the_rate() -> None:
    clock = Seconds()
    limit = RateLimit(10, 25, clock)
    assert taken(limit, "a", 100) == 25
    assert taken(limit, "b", 100) == 25
    clock.now_s += 1
    assert taken(limit, "a", 100) == 10
    clock.now_s += 1000
    assert taken(limit, "a", 100) == 25


def test_retry_after_is_when_the_next_is_taken() -> None:
    clock = Seconds()
    limit = RateLimit(0.25, 1, clock)
    limit.take("a")
    with pytest.raises(Problem) as refused:
        limit.take("a")
    assert (refused.value.code, refused.value.status) == ("rate_limited", 429)
    assert (refused.value.headers or {})["Retry-After"] == "4"
    clock.now_s += 4
    limit.look("a")
    limit.take("a")


def test_looking_takes_nothing_and_no_rate_is_no_limit() -> None:
    limit = RateLimit(1, 1, Seconds())
    for _ in range(5):
        limit.look("a")
    limit.take("a")
    with pytest.raises(Problem):
        limit.look("a")
    assert taken(RateLimit(0, 1, Seconds()), "a", 1_000) == 1_000


def test_buckets_do_not_pile_up() -> None:
    limit = RateLimit(1, 1, Seconds())
    for number in range(KEPT_BUCKETS + 10):
        limit.take(str(number))
    assert len(limit._buckets) == KEPT_BUCKETS


def test_places() -> None:
    room = Room(2, "requests")
    with room.place(), room.place():
        with pytest.raises(Problem, match="2 requests are under way") as refused, room.place():
            pass
        assert (refused.value.status, refused.value.headers) == (503, {"Retry-After": "1"})
    with room.place():
        assert room.taken == 1


JSON = st.recursive(
    st.none() | st.text() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=30,
)


def depth_of(value: Any) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


@pytest.mark.slow
@given(value=JSON, size=st.integers(1, 7), limit=st.integers(0, 6), ascii_only=st.booleans())
def test_depth_is_that_of_the_value_however_it_is_cut(value: Any, size: int, limit: int, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    gauge = DepthGauge(limit)
    is_deep = False
    try:
        for at in range(0, len(text), size):
            gauge.feed(text[at : at + size])
    except Problem:
        is_deep = True
    assert is_deep == (depth_of(value) > limit)


def test_brackets_in_text_are_text() -> None:
    for text in (b'"' + b"[" * 1_000 + b'"', b'"\\"[[[["', b'["\\\\", "[[[["]', b'{"[[[[": "]"}'):
        json.loads(text)
        gauge = DepthGauge(2)
        for at in range(len(text)):
            gauge.feed(text[at : at + 1])


@pytest.fixture
def shell(sqlite_url: str) -> Iterator[Shell]:
    settings = ApiSettings(body_limit=LIMIT, depth_limit=64, body_timeout_s=0.2, max_requests=3, rate=0)
    with shell_on(sqlite_url, settings) as made:

        @made.app.post("/api/echo")
        async def echo(body: dict[str, Any]) -> int:
            return len(body)

        @made.app.post("/api/raw")
        async def raw(request: Request) -> int:
            return len(await request.body())

        let_in(made.app)
        yield made


@pytest.mark.parametrize("path", ["/api/echo", "/api/raw"])
def test_a_body_of_the_limit_and_one_more(shell: Shell, path: str) -> None:
    body = b'{"a":"' + b"x" * (LIMIT - 8) + b'"}'
    headers = {"Content-Type": "application/json"}
    assert shell.ask("POST", path, content=body, headers=headers).status_code == 200
    answer = shell.ask("POST", path, content=body + b" ", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert "10,000 bytes" in answer.json()["detail"]


@pytest.mark.parametrize("path", ["/api/echo", "/api/raw"])
def test_a_body_without_a_length_is_counted_as_it_comes(shell: Shell, path: str) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        yield b'{"a":"'
        while True:
            sent += 1_000
            yield b"x" * 1_000

    answer = shell.ask("POST", path, content=endless(), headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert sent <= LIMIT + 2_000, "it stopped reading at the limit"


def test_a_length_that_lies_is_found_out(shell: Shell) -> None:
    headers = {"Content-Type": "application/json", "Content-Length": "5"}
    answer = shell.ask("POST", "/api/raw", content=b"x" * (LIMIT + 1), headers=headers)
    assert answer.status_code == 413
    for lie in ("99999999999999999999999999", "10001"):
        answer = shell.ask("POST", "/api/raw", content=b"x", headers={**headers, "Content-Length": lie})
        assert answer.status_code == 413


@pytest.mark.parametrize("deep", [b'{"a":' + b"[" * 64 + b"]" * 64 + b"}", b'{"a":' * 65 + b"1" + b"}" * 65])
def test_a_body_that_nests_too_deep(shell: Shell, deep: bytes) -> None:
    for content_type in ("application/json", "application/merge-patch+json"):
        answer = shell.ask("POST", "/api/echo", content=deep, headers={"Content-Type": content_type})
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_body")
        assert "64 levels" in answer.json()["detail"]
    shallower = b'{"a":' * 64 + b"1" + b"}" * 64
    fine = shell.ask("POST", "/api/echo", content=shallower, headers={"Content-Type": "application/json"})
    assert fine.status_code == 200


def test_a_bomb_of_brackets_is_refused_early(shell: Shell) -> None:
    async def bomb() -> AsyncIterator[bytes]:
        yield b"[" * 100
        raise AssertionError("read on after it was known to be too deep")

    answer = shell.ask("POST", "/api/echo", content=bomb(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 400


def test_a_body_that_does_not_come(shell: Shell) -> None:
    async def stuck() -> AsyncIterator[bytes]:
        yield b'{"a":'
        await asyncio.Event().wait()

    answer = shell.ask("POST", "/api/echo", content=stuck(), headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (408, "too_slow")


def test_no_more_requests_than_places_and_health_needs_none(shell: Shell) -> None:
    async def crowd() -> list[httpx.Response]:
        go, inside = asyncio.Event(), asyncio.Semaphore(0)

        @shell.app.get("/api/wait")
        async def wait() -> str:
            inside.release()
            await go.wait()
            return "done"

        let_in(shell.app)
        transport = httpx.ASGITransport(app=shell.app)
        async with httpx.AsyncClient(transport=transport, base_url=HERE) as client:
            three = [asyncio.create_task(client.get("/api/wait")) for _ in range(3)]
            for _ in three:
                await inside.acquire()
            refused = await client.get("/api/docs")
            alive = await client.get("/healthz")
            go.set()
            return [refused, alive, *(await asyncio.gather(*three)), await client.get("/api/docs")]

    refused, alive, *others = shell.engine._inside.portal.call(crowd(), 30)
    assert (refused.status_code, refused.json()["code"], refused.headers["retry-after"]) == (503, "too_busy", "1")
    assert alive.status_code == 200
    assert [answer.status_code for answer in others] == [200] * 4


@pytest.mark.slow
def test_each_key_has_its_own_rate_and_guessing_is_paid_by_the_address(sqlite_url: str) -> None:
    settings = ApiSettings(host=OPEN_TO_ALL, rate=0.001, burst=3)
    with shell_on(sqlite_url, settings) as shell:
        first, second = shell.key("admin").token, shell.key("admin").token

        def ask(key: str) -> int:
            return shell.ask("GET", "/api/docs", key=key).status_code

        assert [ask(first) for _ in range(4)] == [200, 200, 200, 429]
        assert [ask(second) for _ in range(2)] == [200, 200]
        assert [ask("hf_guess") for _ in range(4)] == [401, 401, 401, 429]
        answer = shell.ask("GET", "/api/docs", key=first)
        assert answer.json()["code"] == "rate_limited"
        assert int(answer.headers["retry-after"]) > 100


def test_where_no_key_is_needed_there_is_no_rate_but_a_key_that_is_sent_has_its_own(sqlite_url: str) -> None:
    with shell_on(sqlite_url, ApiSettings(rate=0.001, burst=3)) as shell:
        assert {shell.ask("GET", "/api/docs").status_code for _ in range(20)} == {200}
        key = shell.key("admin").token
        assert [shell.ask("GET", "/api/docs", key=key).status_code for _ in range(4)] == [200, 200, 200, 429]
