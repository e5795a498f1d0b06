"""Changes to many jobs at once, to queues and to schedules."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast import Engine
from holdfast.views import living
from holdfast.views.listing import list_jobs
from tests.api.calling import Client
from tests.api.jobs.test_change import GONE, events, keyed, made


def test_many_are_cancelled_by_filter_after_a_dry_run(client: Client, engine: Engine) -> None:
    adds = [made(client, queue="a") for _ in range(3)]
    other = made(client, "flow", queue="b")
    dry = client.post("/api/jobs/cancel", {"queue": "a"})
    assert dry.status_code == 200, dry.text
    assert (dry.json()["dry_run"], dry.json()["count"]) == (True, 3)
    assert {item["id"] for item in dry.json()["items"]} == set(adds)
    assert engine.get_job(adds[0]).state == "queued"
    done = client.post("/api/jobs/cancel", {"queue": "a", "dry_run": False, "reason": "all"}, **keyed("b"))
    assert (done.json()["dry_run"], done.json()["count"]) == (False, 3)
    again = client.post("/api/jobs/cancel", {"queue": "a", "dry_run": False, "reason": "all"}, **keyed("b"))
    assert again.content == done.content
    assert {engine.get_job(job_id).state for job_id in adds} == {"cancelled"}
    assert {events(engine, job_id)[-1].reason for job_id in adds} == {"all"}
    assert engine.get_job(other).state == "CREATED"
    by_state = client.post("/api/jobs/cancel", {"state": "CREATED", "dry_run": False})
    assert [item["id"] for item in by_state.json()["items"]] == [other]


def test_what_is_over_is_not_even_looked_at(client: Client, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much of it there is: a filter by task over a million that succeeded must not read them."""
    over = [made(client) for _ in range(2)]
    client.post("/api/jobs/cancel", {"ids": over, "dry_run": False})
    crawl = made(client, "crawl")
    read: list[str] = []
    monkeypatch.setattr(living, "list_jobs", _heard(list_jobs, read))
    for chosen in ({"task": "add"}, {"state": "cancelled"}, {"state": "COMPLETED", "lifecycle": "workflow"}):
        assert client.post("/api/jobs/cancel", chosen).json()["count"] == 0
    assert [item["id"] for item in client.post("/api/jobs/cancel", {"lifecycle": "crawl"}).json()["items"]] == [crawl]
    assert read == [crawl]


def _heard(listing: Any, read: list[str]) -> Any:
    async def heard(*args: Any, **how: Any) -> Any:
        page = await listing(*args, **how)
        read.extend(job.id for job in page.items)
        return page

    return heard


def test_many_are_cancelled_by_id_and_the_rest_is_told(client: Client, engine: Engine) -> None:
    living, over = made(client), made(client)
    client.post(f"/api/jobs/{over}/cancel")
    answer = client.post("/api/jobs/cancel", {"ids": [living, over, GONE, "x"], "dry_run": False}).json()
    assert [item["id"] for item in answer["items"]] == [living]
    assert set(answer["left"]) == {over, GONE, "x"}


@pytest.mark.parametrize(
    "body",
    [{}, {"ids": [GONE], "queue": "a"}, {"ids": []}, {"state": "nope"}, {"lifecycle": "nope"}, {"dry_run": "no"}],
)
def test_a_bulk_change_must_say_which(client: Client, engine: Engine, body: dict[str, Any]) -> None:
    made(client)
    answer = client.post("/api/jobs/cancel", {"dry_run": False, **body})
    assert answer.status_code == 422, answer.text
    assert engine.list_jobs()[0].state == "queued"


def test_queues_are_paused_and_resumed(client: Client, engine: Engine) -> None:
    paused = client.post("/api/queues/slow%20one/pause", {"reason": "too hot"})
    assert paused.status_code == 200, paused.text
    assert (paused.json()["queue"], paused.json()["paused"], paused.json()["reason"]) == ("slow one", True, "too hot")
    assert client.post("/api/queues/slow%20one/pause").json()["reason"] == "too hot"
    resumed = client.post("/api/queues/slow%20one/resume", **keyed("k"))
    assert resumed.json() == {"queue": "slow one", "paused": False, "was_paused": True}
    assert client.post("/api/queues/slow%20one/resume", **keyed("k")).content == resumed.content
    assert client.post("/api/queues/slow%20one/resume").json()["was_paused"] is False
    assert client.post("/api/queues/%00/pause").status_code in (400, 422)


def test_schedules_are_held_resumed_and_forgotten(client: Client, engine: Engine) -> None:
    engine.schedule("hourly", "add", cron="0 * * * *", args={"a": 1})
    assert client.post("/api/schedules/hourly/pause").json()["paused"] is True
    resumed = client.post("/api/schedules/hourly/resume").json()
    assert (resumed["paused"], resumed["next_at"]) == (False, "2026-01-01T01:00:00.000Z")
    gone = client.delete("/api/schedules/hourly", **keyed("k"))
    assert gone.json() == {"name": "hourly", "deleted": True}
    assert client.delete("/api/schedules/hourly", **keyed("k")).content == gone.content
    for answer in (
        client.delete("/api/schedules/hourly"),
        client.post("/api/schedules/hourly/pause"),
        client.post("/api/schedules/%00/resume"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
