"""Submit and wait: the answer is the finished job, or 202 when the time is over; too many are told so at once."""

from __future__ import annotations

import asyncio

import pytest

from holdfast import Engine
from tests.api.calling import Client, client_of


def test_the_finished_job_is_the_answer(client: Client, engine: Engine) -> None:
    with engine.worker(concurrency=2):
        for path, more in (("/api/jobs?wait=true", {}), ("/api/jobs?wait=20", {}), ("/api/jobs", {"wait": True})):
            answer = client.post(path, {"task": "add", "args": {"a": 1, "b": 2}, **more})
            assert answer.status_code == 200, answer.text
            assert (answer.json()["state"], answer.json()["result"]) == ("succeeded", 3)
            assert answer.json()["created"] is True
            assert answer.headers["location"].endswith(answer.json()["id"])
        failed = client.post("/api/jobs?wait=true", {"task": "boom", "args": {"text": "x"}})
        assert (failed.status_code, failed.json()["canonical_state"]) == (200, "dead_lettered")


def test_when_the_time_is_over_the_job_goes_on(client: Client, engine: Engine) -> None:
    answer = client.post("/api/jobs", {"task": "add", "args": {"a": 1}, "wait": 0.05})
    assert (answer.status_code, answer.json()["state"]) == (202, "queued")
    assert engine.get_job(answer.json()["id"]).state == "queued"


def test_a_repeat_waits_for_the_same_job(client: Client, engine: Engine) -> None:
    how = {"headers": {"Idempotency-Key": "k"}}
    body = {"task": "add", "args": {"a": 1}, "wait": "50ms"}
    first = client.post("/api/jobs", body, **how)
    assert first.status_code == 202
    with engine.worker(concurrency=1):
        again = client.post("/api/jobs?wait=20", body, **how)
    assert (again.status_code, again.json()["id"], again.json()["result"]) == (200, first.json()["id"], 2)
    assert len(engine.list_jobs()) == 1


def test_no_wait_is_no_wait(client: Client) -> None:
    for wait in (False, 0, "0s"):
        assert client.post("/api/jobs", {"task": "add", "args": {"a": 1}, "wait": wait}).status_code == 201
    assert client.post("/api/jobs?wait=false", {"task": "add", "args": {"a": 1}}).status_code == 201
    for wait in ("soon", "-1", "1e9", "nan"):
        answer = client.post(f"/api/jobs?wait={wait}", {"task": "add", "args": {"a": 1}})
        assert (answer.status_code, answer.json()["field"]) == (400, "wait"), answer.text


@pytest.mark.slow
def test_all_places_taken_is_429_and_nothing_is_created(engine: Engine) -> None:
    client = client_of(engine, sync_waiters=2)
    waiting = [client.start("POST", "/api/jobs?wait=20", json={"task": "add", "args": {"a": n}}) for n in range(2)]
    while getattr(client.app.state, "sync_waiting", 0) < 2 or len(engine.list_jobs()) < 2:
        client.get("/api/openapi.json")
    refused = client.post("/api/jobs?wait=true", {"task": "add", "args": {"a": 9}})
    assert (refused.status_code, refused.json()["code"]) == (429, "saturated")
    assert int(refused.headers["retry-after"]) > 0
    assert len(engine.list_jobs()) == 2
    assert client.post("/api/jobs", {"task": "add", "args": {"a": 9}}).status_code == 201
    with engine.worker(concurrency=2):
        assert [future.result(30).status_code for future in waiting] == [200, 200]
        assert client.post("/api/jobs?wait=true", {"task": "add", "args": {"a": 9}}).status_code == 200


def test_a_queue_that_is_too_long_is_429(engine: Engine) -> None:
    client = client_of(engine, sync_backlog=3)
    client.post("/api/jobs/batch", {"jobs": [{"task": "add", "args": {"a": n}} for n in range(3)]})
    refused = client.post("/api/jobs?wait=true", {"task": "add", "args": {"a": 9}})
    assert (refused.status_code, refused.json()["code"]) == (429, "saturated")
    assert len(engine.list_jobs()) == 3
    elsewhere = client.post("/api/jobs?wait=0.01", {"task": "add", "args": {"a": 9}, "queue": "short"})
    assert elsewhere.status_code == 202


@pytest.mark.rule("C14")
def test_a_call_waits_300_s_as_is_usual_and_a_job_has_a_limit_of_its_own(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    @engine.task(lifecycle="crawl", retries=0)
    async def crawl_for(seconds: float) -> str:
        await asyncio.sleep(seconds)
        return "done"

    waited: list[float] = []

    async def until_over(request: object, store: object, job_id: str, wait_s: float) -> None:
        waited.append(wait_s)

    with monkeypatch.context() as patch:
        patch.setattr("holdfast.api.jobs.create.over_by_then", until_over)
        for path, more in (("?wait=true", {}), ("", {"wait": True}), ("", {"wait": "5m"}), ("?wait=7", {})):
            body = {"task": "crawl_for", "args": {"seconds": 0}, **more}
            assert client_of(engine).post(f"/api/jobs{path}", body).status_code == 202
    assert waited == [300, 300, 300, 7]

    client = client_of(engine, wait_s=0.05)
    slow = {"task": "crawl_for", "args": {"seconds": 30}, "timeout": "200ms"}
    assert client.post("/api/jobs?wait=true", slow).status_code == 202, "the call's time is over, and the job goes on"
    with engine.worker(concurrency=6):
        late = client.post("/api/jobs?wait=20", slow).json()
        assert (late["state"], late["error"]["code"]) == ("failed", "timeout")
        soon = {"task": "crawl_for", "args": {"seconds": 0.3}, "timeout": "20s"}
        assert client.post("/api/jobs?wait=20", soon).json()["result"] == "done"
