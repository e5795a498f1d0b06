"""What stands beside jobs: queues, workers, leases, lifecycles, tasks, schedules, figures, the caller."""

from __future__ import annotations

import pytest

from holdfast import Engine
from holdfast.catalog import BUILT_IN
from holdfast.testing import MovableClock, drain
from holdfast.worker.presence import Presence
from tests.api.calling import Client
from tests.cli.seeds import REVIEW

PATHS = ("queues", "workers", "leases", "lifecycles", "lifecycles/durable", "tasks", "schedules", "stats", "me")


@pytest.mark.parametrize("path", PATHS)
def test_each_answers_and_takes_no_unknown_parameter(client: Client, path: str) -> None:
    assert client.get(f"/api/{path}").status_code == 200
    answer = client.get(f"/api/{path}", params={"verbose": "1"})
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (400, "unknown_parameter", "verbose")


def test_queues(client: Client, engine: Engine) -> None:
    engine.submit("add", {"a": 1})
    engine.submit("crawl", {"url": "x"})
    engine.pause_queue("crawls", "upgrade")
    found = {queue["name"]: queue for queue in client.get("/api/queues").json()["items"]}
    assert found.keys() == {"default", "crawls"}
    assert (found["crawls"]["paused"], found["crawls"]["reason"]) == (True, "upgrade")
    assert (found["default"]["queued"], found["default"]["due"]) == (1, 1)


def test_workers_and_leases(client: Client, engine: Engine, clock: MovableClock) -> None:
    job = engine.submit("add", {"a": 1})

    async def work() -> None:
        store = await engine._inside.opened()
        await Presence(store, "w", {"default": 1}, 4).seen({"running": 1})
        await store.jobs.claim(["default"], 1, "w")

    engine._inside.portal.call(work())
    [worker] = client.get("/api/workers").json()["items"]
    assert (worker["owner"], worker["alive"], worker["queues"], worker["concurrency"]) == ("w", True, ["default"], 4)
    [lease] = client.get("/api/leases").json()["items"]
    assert (lease["job_id"], lease["owner"], lease["lost"]) == (job.id, "w", False)
    clock.advance("10m")
    assert client.get("/api/workers").json()["items"] == []
    [gone] = client.get("/api/workers", params={"all": "true"}).json()["items"]
    assert gone["alive"] is False
    [lease] = client.get("/api/leases").json()["items"]
    assert lease["lost"] is True
    for limit in ("0", "5001", "x"):
        assert client.get("/api/leases", params={"limit": limit}).status_code == 400


def test_lifecycles(client: Client, engine: Engine) -> None:
    async def register() -> None:
        await (await engine._inside.opened()).register(REVIEW)

    engine._inside.portal.call(register())
    found = {each["name"]: each for each in client.get("/api/lifecycles").json()["items"]}
    assert found.keys() >= {*BUILT_IN, "review"}
    assert (found["durable"]["built_in"], found["review"]["built_in"]) == (True, False)
    for name, table in {**BUILT_IN, "review": REVIEW}.items():
        assert client.get(f"/api/lifecycles/{name}").json() == table.to_dict()
    answer = client.get("/api/lifecycles/none")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert "durable" in answer.json()["allowed"]


def test_tasks_say_what_they_take(client: Client) -> None:
    tasks = {task["name"]: task for task in client.get("/api/tasks").json()["items"]}
    assert list(tasks) == sorted(tasks)
    assert (tasks["crawl"]["lifecycle"], tasks["crawl"]["queue"]) == ("crawl", "crawls")
    assert tasks["greet"]["parameters"] == {
        "type": "object",
        "properties": {"name": {"type": "string"}, "times": {"type": "integer", "default": 1}},
        "required": ["name"],
        "additionalProperties": False,
    }


def test_schedules(client: Client, engine: Engine) -> None:
    engine.schedule("nightly", "add", cron="0 6 * * *", timezone="Europe/Berlin", args={"a": 1})
    [schedule] = client.get("/api/schedules").json()["items"]
    assert (schedule["name"], schedule["task"], schedule["args"]) == ("nightly", "add", {"a": 1})
    assert schedule["next_at"].endswith("Z")


def test_stats(client: Client, engine: Engine, clock: MovableClock) -> None:
    for n in range(3):
        engine.submit("add", {"a": n})
    engine.submit("flow", {"n": 1})
    drain(engine)
    engine.submit("crawl", {"url": "x"})
    stats = client.get("/api/stats").json()
    assert stats["states"] == [
        {"state": "queued", "count": 1, "exact": True},
        {"state": "succeeded", "count": 4, "exact": True},
    ]
    counted = {(each["lifecycle"], each["canonical_state"]): each["count"] for each in stats["jobs"]}
    assert counted == {("durable", "succeeded"): 3, ("workflow", "succeeded"): 1, ("crawl", "queued"): 1}
    assert {each["state"] for each in stats["jobs"]} == {"succeeded", "COMPLETED", "queued"}
    lately = {each["event"]: each["count"] for each in stats["last_minute"]}
    assert lately["job_submitted"] >= 4
    assert [queue["name"] for queue in stats["queues"]] == ["crawls"]
    clock.advance("61s")
    assert client.get("/api/stats").json()["last_minute"] == []


def test_a_count_beyond_the_cap_is_a_minimum(client: Client, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.views.statistics.CAP", 5)
    for n in range(7):
        engine.submit("add", {"a": n})
    stats = client.get("/api/stats").json()
    assert stats["states"] == [{"state": "queued", "count": 5, "exact": False}]
    assert stats["jobs"][0]["exact"] is False
    assert {"event": "job_submitted", "count": 5, "exact": False} in stats["last_minute"]


def test_me(client: Client) -> None:
    assert client.get("/api/me").json() == {
        "name": "local",
        "scopes": ["read", "write", "admin"],
        "key_id": None,
        "loopback": True,
    }


def test_the_document_describes_every_answer(client: Client) -> None:
    document = client.get("/api/openapi.json").json()
    for path in ("/api/jobs", "/api/jobs/{id}", *(f"/api/{name}" for name in PATHS if "/" not in name)):
        good = document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        assert good, path
    job = document["components"]["schemas"]["Job"]
    assert job["additionalProperties"] is False
    assert {"id", "state", "canonical_state", "lease", "progress", "links"} <= set(job["required"])
    assert job["properties"]["id"]["examples"]
