"""Dead letters over HTTP: looked at, grouped, replayed, discarded."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast import Engine
from tests.api.calling import Client


@pytest.fixture
def dead(client: Client, engine: Engine) -> list[str]:
    """Three dead-lettered jobs."""
    with engine.worker(concurrency=1):
        answers = [client.post("/api/jobs?wait=20", {"task": "boom", "args": {"text": f"x{n}"}}) for n in range(3)]
    assert {answer.json()["canonical_state"] for answer in answers} == {"dead_lettered"}
    return [answer.json()["id"] for answer in answers]


def test_letters_come_in_pages_newest_first(client: Client, dead: list[str]) -> None:
    first = client.get("/api/dead?limit=2").json()
    rest = client.get("/api/dead", params={"limit": 2, "cursor": first["next_cursor"]}).json()
    assert [letter["job_id"] for letter in first["items"] + rest["items"]] == sorted(dead, reverse=True)
    assert rest["next_cursor"] is None
    assert first["items"][0]["task"] == "boom"
    assert client.get("/api/dead?task=add").json()["items"] == []
    other = client.get("/api/dead", params={"task": "boom", "cursor": first["next_cursor"]})
    assert (other.status_code, other.json()["field"]) == (400, "cursor"), "a cursor belongs to its filter"


def test_a_page_looks_at_so_many_and_leads_on(client: Client, dead: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is rare among a million letters must not make a page slow."""
    monkeypatch.setattr("holdfast.api.admin.dead.STEPS", 1)
    monkeypatch.setattr("holdfast.api.shapes.pages.PATIENCE_S", -1)
    client.post("/api/dead/discard", {"ids": [max(dead)], "dry_run": False})
    pages: list[list[str]] = []
    cursor: str | None = None
    while not pages or cursor is not None:
        page = client.get("/api/dead", params={} if cursor is None else {"cursor": cursor}).json()
        pages.append([letter["job_id"] for letter in page["items"]])
        cursor = page["next_cursor"]
    assert pages == [[], [sorted(dead)[1]], [min(dead)], []]


def test_what_is_counted_is_capped(client: Client, dead: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.store.admin.dead.COUNTED", 2)
    [group] = client.get("/api/dead/groups").json()["items"]
    assert (group["count"], group["exact"], group["example"]["job_id"]) == (2, False, max(dead))
    monkeypatch.setattr("holdfast.store.admin.dead.COUNTED", 3)
    [group] = client.get("/api/dead/groups").json()["items"]
    assert (group["count"], group["exact"]) == (3, True)
    monkeypatch.setattr("holdfast.api.admin.dead.MOST", 2)
    done = client.post("/api/dead/discard", {"group": group["group"], "dry_run": False}).json()
    assert (done["count"], done["more"]) == (2, True)
    rest = client.post("/api/dead/replay", {"group": group["group"], "dry_run": False}).json()
    assert ([item["id"] for item in rest["items"]], rest["more"]) == ([min(dead)], False)


@pytest.mark.parametrize(
    ("query", "code", "field"),
    [
        ("limit=0", "invalid_parameter", "limit"),
        ("limit=x", "invalid_parameter", "limit"),
        ("cursor=x", "invalid_parameter", "cursor"),
        ("stage=nope", "invalid_parameter", "stage"),
        ("reason_code=nope", "invalid_parameter", "reason_code"),
        ("colour=red", "unknown_parameter", "colour"),
    ],
)
def test_a_wrong_parameter_is_named(client: Client, query: str, code: str, field: str) -> None:
    answer = client.get(f"/api/dead?{query}")
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (400, code, field), answer.text


def test_letters_are_grouped(client: Client, dead: list[str]) -> None:
    [group] = client.get("/api/dead/groups").json()["items"]
    assert group["count"] == 3
    assert group["example"]["job_id"] in dead


def test_a_replay_is_dry_until_told_otherwise_then_done_once(client: Client, engine: Engine, dead: list[str]) -> None:
    [group] = client.get("/api/dead/groups").json()["items"]
    ask: dict[str, Any] = {"group": group["group"], "edits": {"text": "mended"}, "reason": "mended"}
    dry = client.post("/api/dead/replay", ask)
    assert (dry.json()["dry_run"], dry.json()["count"]) == (True, 3), dry.text
    assert len(engine.list_jobs()) == 3
    how = {"headers": {"Idempotency-Key": "k"}}
    done = client.post("/api/dead/replay", ask | {"dry_run": False}, **how)
    assert (done.json()["dry_run"], done.json()["count"]) == (False, 3)
    assert all(item["created"] for item in done.json()["items"])
    assert client.post("/api/dead/replay", ask | {"dry_run": False}, **how).content == done.content
    twice = client.post("/api/dead/replay", {"ids": dead, "dry_run": False}).json()
    assert {item["replayed_as"] for item in twice["items"]} == {item["replayed_as"] for item in done.json()["items"]}
    assert not any(item["created"] for item in twice["items"])
    assert len(engine.list_jobs()) == 6
    with engine.worker(concurrency=1):
        again = [engine.get_job(item["replayed_as"]) for item in done.json()["items"]]
        from holdfast.runtime.handle import JobHandle

        assert {JobHandle(engine._inside, job.id).result(timeout=20) for job in again} == {"mended"}
    assert client.get("/api/dead").json()["items"] == []
    assert len(client.get("/api/dead?resolved=true").json()["items"]) == 3


def test_edits_are_checked_against_the_task(client: Client, engine: Engine, dead: list[str]) -> None:
    answer = client.post("/api/dead/replay", {"ids": dead, "edits": {"text": 7}, "dry_run": False})
    assert (answer.status_code, answer.json()["field"]) == (422, "text"), answer.text
    assert len(engine.list_jobs()) == 3


def test_letters_are_discarded_with_a_reason(client: Client, engine: Engine, dead: list[str]) -> None:
    ask = {"ids": [dead[0], "nope"], "reason": "no use"}
    dry = client.post("/api/dead/discard", ask).json()
    assert (dry["dry_run"], [item["id"] for item in dry["items"]], list(dry["left"])) == (True, [dead[0]], ["nope"])
    done = client.post("/api/dead/discard", ask | {"dry_run": False}).json()
    assert [item["id"] for item in done["items"]] == [dead[0]]
    again = client.post("/api/dead/discard", ask | {"dry_run": False}).json()
    assert (again["items"], again["left"][dead[0]]) == ([], "it was discarded: no use")
    rest = client.post("/api/dead/discard", {"filter": {"task": "boom"}, "dry_run": False}).json()
    assert rest["count"] == 2


@pytest.mark.parametrize("verb", ["replay", "discard"])
@pytest.mark.parametrize(
    "body",
    [{}, {"ids": [], "dry_run": False}, {"ids": ["a"], "group": "g"}, {"filter": {"stage": "nope"}}, {"id": "x"}],
)
def test_a_change_must_say_which_letters(client: Client, verb: str, body: dict[str, Any]) -> None:
    assert client.post(f"/api/dead/{verb}", body).status_code == 422
