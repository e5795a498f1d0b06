"""Idempotency-Key: one effect and one answer, however often, from however many, and over a day."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from holdfast import Engine
from holdfast.api.access.keys import Scope, make_key
from holdfast.api.jobs import idempotency
from holdfast.testing import MovableClock
from tests.api.calling import Client, client_of
from tests.api.tasks import declare
from tests.tables import driver_of

BODY = {"task": "crawl", "args": {"url": "http://a"}}


def keyed(key: str) -> dict[str, dict[str, str]]:
    return {"headers": {"Idempotency-Key": key}}


def test_a_repeat_gets_the_first_answer_to_the_byte(client: Client, engine: Engine) -> None:
    first = client.post("/api/jobs", BODY, **keyed("k"))
    engine.cancel_job(first.json()["id"])
    spelled = json.dumps({"args": {"url": "http://a"}, "task": "crawl"}, indent=3)
    again = client.request(
        "POST", "/api/jobs", content=spelled, headers={"idempotency-key": "k", "content-type": "application/json"}
    )
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again.headers["location"] == first.headers["location"]
    assert again.headers["content-type"] == first.headers["content-type"]
    assert (first.headers.get("idempotency-replayed"), again.headers["idempotency-replayed"]) == (None, "true")
    assert len(engine.list_jobs()) == 1


def test_another_body_under_the_key_is_refused(client: Client, engine: Engine) -> None:
    client.post("/api/jobs", BODY, **keyed("k"))
    other = client.post("/api/jobs", BODY | {"priority": 1}, **keyed("k"))
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
    assert other.json()["field"] == "Idempotency-Key"
    assert len(engine.list_jobs()) == 1


def test_a_key_counts_for_its_path_alone(client: Client, engine: Engine) -> None:
    first = client.post("/api/jobs", BODY, **keyed("k")).json()
    assert client.post("/api/jobs/batch", {"jobs": [BODY]}, **keyed("k")).status_code == 201
    assert client.post(f"/api/jobs/{first['id']}/cancel", **keyed("k")).status_code == 200
    assert len(engine.list_jobs()) == 2


@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "a\tb"])
def test_a_key_that_is_none_is_refused(client: Client, engine: Engine, key: str) -> None:
    answer = client.post("/api/jobs", BODY, **keyed(key))
    assert (answer.status_code, answer.json()["field"]) == (400, "Idempotency-Key")
    assert not engine.list_jobs()
    assert client.post("/api/jobs", BODY, **keyed("~" * 255)).status_code == 201


@pytest.mark.rule("C04")
def test_a_key_holds_for_a_day(client: Client, engine: Engine, clock: MovableClock) -> None:
    first = client.post("/api/jobs", BODY, **keyed("k"))
    clock.advance("23h")
    clock.advance("3599999ms")
    again = client.post("/api/jobs", BODY, **keyed("k"))
    assert (again.status_code, again.content) == (201, first.content)
    assert len(engine.list_jobs()) == 1
    clock.advance("1ms")
    anew = client.post("/api/jobs", BODY, **keyed("k"))
    assert anew.status_code == 201
    assert anew.json()["id"] != first.json()["id"]
    assert len(engine.list_jobs()) == 2
    assert client.post("/api/jobs", BODY, **keyed("k")).content == anew.content


def test_the_answer_outlives_its_process(client: Client, engine: Engine) -> None:
    first = client.post("/api/jobs", BODY, **keyed("k"))
    engine.close()
    assert client_of(engine).post("/api/jobs", BODY, **keyed("k")).content == first.content


@pytest.fixture
def servers(engine: Engine, clock: MovableClock) -> Iterator[list[Client]]:
    """Two engines on one database: they know nothing of each other's requests, and the database decides."""
    other = Engine(engine.url, clock=clock)
    try:
        declare(other)
        other.list_jobs()
        clients = [client_of(engine, rate=0), client_of(other, rate=0)]
        # The framework finishes its routes at the first request, and not for two threads at once.
        assert [each.get("/api/openapi.json").status_code for each in clients] == [200, 200]
        yield clients
    finally:
        other.close()


@pytest.mark.slow
def test_64_clients_with_100_keys_are_100_jobs_and_64_equal_answers_each(servers: list[Client], engine: Engine) -> None:
    for turn in range(100):
        asked = {"json": BODY, **keyed(f"k{turn}")}
        answers = [future.result(30) for future in [each.start("POST", "/api/jobs", **asked) for each in servers * 32]]
        assert {answer.status_code for answer in answers} == {201}, [answer.text for answer in answers]
        assert len({answer.content for answer in answers}) == 1
    assert len(engine.list_jobs(limit=500)) == 100


@pytest.mark.slow
@pytest.mark.parametrize("duplicates", ["return", "reject", "replace"])
def test_servers_that_race_agree(servers: list[Client], engine: Engine, duplicates: str) -> None:
    """Where a second submit would be refused, or would replace the first, too."""
    for turn in range(10):
        body = BODY | {"key": f"one-{turn}", "duplicates": duplicates}
        futures = [each.start("POST", "/api/jobs", json=body, **keyed(f"k{turn}")) for each in servers * 4]
        answers = [future.result(30) for future in futures]
        assert {answer.status_code for answer in answers} == {201}, [answer.text for answer in answers]
        assert len({answer.content for answer in answers}) == 1
        assert len(engine.list_jobs()) == turn + 1


def test_a_key_is_its_callers_own(client: Client, engine: Engine) -> None:
    async def make(name: str) -> str:
        return (await make_key(await engine._inside.opened(), name, Scope.WRITE)).token

    told = [
        client.post("/api/jobs", BODY, headers={"Idempotency-Key": "k", "Authorization": f"Bearer {token}"}).json()
        for token in map(engine._inside.portal.call, (make("ann"), make("ben")))
    ]
    told.append(client.post("/api/jobs", BODY, **keyed("k")).json())
    assert len({job["id"] for job in told}) == 3

    async def actor(job_id: str) -> str:
        return (await (await engine._inside.opened()).reads.events(job_id))[0].actor

    assert [engine._inside.portal.call(actor(job["id"])) for job in told] == ["ann", "ben", "local"]


def test_a_repeat_while_the_first_is_at_it_is_told_so(
    client: Client, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idempotency, "IN_FLIGHT_S", 0.05)
    engine.list_jobs()

    async def hold() -> asyncio.Event:
        driver: Any = driver_of(await engine._inside.opened())
        write, go_on = driver.write, asyncio.Event()

        async def held(script: Any, **how: Any) -> Any:
            await go_on.wait()
            return await write(script, **how)

        monkeypatch.setattr(driver, "write", held)
        return go_on

    go_on = engine._inside.portal.call(hold())
    first = client.start("POST", "/api/jobs", json=BODY, **keyed("k"))
    while not getattr(client.app.state, "flights", None):
        time.sleep(0.001)
    second = client.post("/api/jobs", BODY, **keyed("k"))
    assert (second.status_code, second.json()["code"]) == (409, "idempotency_in_flight")
    assert second.headers["retry-after"] == "1"
    engine._inside.portal.loop.call_soon_threadsafe(go_on.set)
    assert first.result(30).status_code == 201
    assert client.post("/api/jobs", BODY, **keyed("k")).content == first.result().content
    assert len(engine.list_jobs()) == 1


def test_an_engine_key_and_an_idempotency_key_together(client: Client, engine: Engine) -> None:
    client.post("/api/jobs", BODY | {"key": "one"})
    held = client.post("/api/jobs", BODY | {"key": "one"}, **keyed("k"))
    again = client.post("/api/jobs", BODY | {"key": "one"}, **keyed("k"))
    assert (held.status_code, held.json()["created"]) == (200, False)
    assert again.content == held.content


def test_what_was_refused_may_be_sent_again(client: Client, engine: Engine) -> None:
    client.post("/api/jobs", BODY | {"key": "one"})
    refused = client.post("/api/jobs", BODY | {"key": "one", "duplicates": "reject"}, **keyed("k"))
    assert refused.status_code == 409
    engine.cancel_job(engine.list_jobs()[0].id)
    created = client.post("/api/jobs", BODY | {"key": "two", "duplicates": "reject"}, **keyed("k2"))
    assert created.status_code == 201


def test_old_answers_are_cleared_away(client: Client, engine: Engine, clock: MovableClock) -> None:
    for n in range(3):
        client.post("/api/jobs", BODY, **keyed(f"k{n}"))
    clock.advance("1d")

    async def drop() -> tuple[int, int]:
        return await (await engine._inside.opened()).upkeep.drop_expired(100)

    assert engine._inside.portal.call(drop())[1] == 3
