"""POST /jobs/batch: all or nothing."""

from __future__ import annotations

from typing import Any

from holdfast import Engine
from tests.api.calling import Client


def add(n: int, **more: Any) -> dict[str, Any]:
    return {"task": "add", "args": {"a": n}, **more}


def test_many_jobs_in_order(client: Client, engine: Engine) -> None:
    jobs = [add(1), {"task": "flow", "args": {"n": 2}, "queue": "q"}, {"type": "worker", "command": "true"}]
    answer = client.post("/api/jobs/batch", {"jobs": jobs})
    assert answer.status_code == 201, answer.text
    told = answer.json()
    assert (told["count"], told["created"]) == (3, 3)
    assert [engine.get_job(item["id"]).task for item in told["items"]] == ["add", "flow", "holdfast.command"]
    assert told["items"][1]["links"]["self"] == f"/api/jobs/{told['items'][1]['id']}"


def test_a_thousand_are_taken_and_one_more_is_not(client: Client, engine: Engine) -> None:
    too_many = client.post("/api/jobs/batch", {"jobs": [add(n) for n in range(1_001)]})
    assert (too_many.status_code, too_many.json()["field"]) == (422, "jobs")
    assert not engine.list_jobs()
    whole = client.post("/api/jobs/batch", {"jobs": [add(n) for n in range(1_000)]})
    assert (whole.status_code, whole.json()["created"]) == (201, 1_000)
    assert client.post("/api/jobs/batch", {"jobs": []}).status_code == 422


def test_one_that_is_wrong_keeps_all_out_and_is_named(client: Client, engine: Engine) -> None:
    jobs = [add(1), add(2, priority="x"), {"task": "nope"}, {"task": "add", "args": {"a": "x"}}]
    problem = client.post("/api/jobs/batch", {"jobs": jobs}).json()
    assert (problem["status"], problem["field"]) == (422, "jobs[1].priority")
    del jobs[1]
    problem = client.post("/api/jobs/batch", {"jobs": jobs}).json()
    assert (problem["status"], problem["code"], problem["field"]) == (422, "invalid_field", "jobs[1].task")
    assert [error["field"] for error in problem["errors"]] == ["jobs[1].task", "jobs[2].args.a"]
    problem = client.post("/api/jobs/batch", {"jobs": [add(1), {"type": "worker"}]}).json()
    assert (problem["status"], problem["code"], problem["field"]) == (400, "missing_command", "jobs[1].command")
    problem = client.post("/api/jobs/batch", {"jobs": [add(1), add(2, wait=True)]}).json()
    assert problem["field"] == "jobs[1].wait"
    assert not engine.list_jobs()


def test_a_key_that_is_held_keeps_all_out_when_it_must(client: Client, engine: Engine) -> None:
    client.post("/api/jobs", add(1, key="taken"))
    jobs = [add(2, key="free"), add(3, key="taken", duplicates="reject")]
    problem = client.post("/api/jobs/batch", {"jobs": jobs}).json()
    assert (problem["code"], problem["field"]) == ("duplicate_key", "jobs[1].key")
    assert len(engine.list_jobs()) == 1
    shared = client.post("/api/jobs/batch", {"jobs": [add(2, key="free"), add(3, key="taken"), add(4, key="free")]})
    assert [item["created"] for item in shared.json()["items"]] == [True, False, False]
    assert (shared.status_code, shared.json()["created"]) == (201, 1)
    assert client.post("/api/jobs/batch", {"jobs": [add(3, key="taken")]}).status_code == 200


def test_a_repeat_under_its_key_creates_nothing(client: Client, engine: Engine) -> None:
    how = {"headers": {"Idempotency-Key": "b"}}
    first = client.post("/api/jobs/batch", {"jobs": [add(1), add(2)]}, **how)
    again = client.post("/api/jobs/batch", {"jobs": [add(1), add(2)]}, **how)
    assert (again.status_code, again.content) == (201, first.content)
    assert len(engine.list_jobs()) == 2
