"""GET /jobs/{id} and GET /jobs/{STATE}: told apart by their form."""

from __future__ import annotations

import json

import pytest

from holdfast import Engine
from holdfast.cli import main
from holdfast.store.port import Signal
from holdfast.testing import MovableClock, drain
from tests.api.calling import Client


@pytest.mark.rule("W13")
def test_a_job_and_the_jobs_in_a_state(client: Client, engine: Engine) -> None:
    made = [engine.submit("flow", {"n": n}).id for n in range(3)]
    engine.cancel_job(made[0])
    answer = client.get(f"/api/jobs/{made[1]}")
    assert answer.status_code == 200
    assert answer.json()["id"] == made[1] == engine.get_job(made[1]).id
    assert answer.json()["state"] == "CREATED"
    for name, wanted in (
        ("CREATED", [made[2], made[1]]),
        ("queued", [made[2], made[1]]),
        ("CANCELLED", [made[0]]),
        ("cancelled", [made[0]]),
        ("ACTIVE", []),
    ):
        page = client.get(f"/api/jobs/{name}").json()
        assert [job["id"] for job in page["items"]] == wanted
        assert [job.id for job in engine.list_jobs(state=name)] == wanted


def test_the_jobs_in_a_state_come_in_pages(client: Client, engine: Engine) -> None:
    made = [engine.submit("add", {"a": n}).id for n in range(3)]
    first = client.get("/api/jobs/queued", params={"limit": 2}).json()
    second = client.get("/api/jobs/queued", params={"limit": 2, "cursor": first["next_cursor"]}).json()
    assert [job["id"] for job in first["items"] + second["items"]] == list(reversed(made))
    # The same filter, spelt as a parameter: its cursor fits.
    assert client.get("/api/jobs", params={"state": "queued", "cursor": first["next_cursor"]}).status_code == 200


@pytest.mark.parametrize("name", ["nope", "Queued", "0", "018bcfe5", "%00", "..", "ü", "x" * 3_000])
def test_what_is_neither_is_explained(client: Client, name: str) -> None:
    answer = client.get(f"/api/jobs/{name}")
    assert answer.status_code == 404, answer.text
    assert answer.json()["code"] == "not_found"
    if name != "..":  # a path of its own
        assert "UUID" in answer.json()["detail"]
        assert "dead_lettered" in answer.json()["allowed"]


def test_a_job_that_is_not_there(client: Client) -> None:
    answer = client.get("/api/jobs/018bcfe5-6800-7000-8000-000000000001")
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (404, "not_found", "id")


def test_an_id_in_capitals_is_the_same_id(client: Client, engine: Engine) -> None:
    job = engine.submit("add", {"a": 1})
    assert client.get(f"/api/jobs/{job.id.upper()}").json()["id"] == job.id


def test_unchanged_is_not_sent_again(client: Client, engine: Engine) -> None:
    job = engine.submit("add", {"a": 1})
    first = client.get(f"/api/jobs/{job.id}")
    etag = first.headers["etag"]
    assert etag == f'"{first.json()["version"]}"'
    for value in (etag, f"W/{etag}", f'"77", {etag}', "*"):
        again = client.get(f"/api/jobs/{job.id}", headers={"If-None-Match": value})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    assert client.get(f"/api/jobs/{job.id}", headers={"If-None-Match": '"77"'}).status_code == 200
    drain(engine)
    changed = client.get(f"/api/jobs/{job.id}", headers={"If-None-Match": etag})
    assert (changed.status_code, changed.json()["result"]) == (200, 2)


def test_a_job_at_work_is_shown_anew(client: Client, engine: Engine, clock: MovableClock) -> None:
    """Its progress changes and its version does not."""
    job = engine.submit("add", {"a": 1})

    async def begin() -> None:
        store = await engine._inside.opened()
        assert len(await store.jobs.claim(["default"], 1, "w")) == 1
        await store.jobs.signal([Signal(job.id, 1, "job_progress", "w", '{"done": 3, "total": 12}')])

    engine._inside.portal.call(begin())
    first = client.get(f"/api/jobs/{job.id}")
    assert first.json()["lease"]["owner"] == "w"
    assert first.json()["progress"]["done"] == 3
    assert client.get(f"/api/jobs/{job.id}", headers={"If-None-Match": first.headers["etag"]}).status_code == 200
    [listed] = client.get("/api/jobs/running").json()["items"]
    assert listed == first.json()


def test_the_command_line_shows_the_same(
    client: Client, engine: Engine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [
        engine.submit(name, args).id for name, args in (("flow", {"n": 1}), ("add", {"a": 1}), ("boom", {"text": ""}))
    ]
    drain(engine)
    monkeypatch.setenv("HOLDFAST_DB", engine.url)

    def said(*words: str) -> object:
        assert main([*words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    for job_id in made:
        assert said("job", "show", job_id) == client.get(f"/api/jobs/{job_id}").json()
        assert said("job", "events", job_id) == client.get(f"/api/jobs/{job_id}/events").json()["items"]
    listed = said("job", "list")
    assert isinstance(listed, dict)
    assert listed["items"] == client.get("/api/jobs").json()["items"]
    for words in (("queue", "list"), ("schedule", "list"), ("lifecycle", "list")):
        noun = f"{words[0]}s"
        shown = client.get(f"/api/{noun}").json()["items"]
        assert sorted(map(str, said(*words))) == sorted(map(str, shown))  # type: ignore[call-overload]
    assert said("lifecycle", "show", "durable") == client.get("/api/lifecycles/durable").json()
