"""POST /jobs: declared tasks, the sandbox's commands, and everything that can be wrong with either."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import pytest

from holdfast import Engine
from holdfast.kernel.lifecycle import Command
from holdfast.kernel.move import move
from holdfast.testing import MovableClock
from tests.api.calling import Client


def stored(engine: Engine) -> int:
    return len(engine.list_jobs(limit=500))


def test_a_job_is_created_and_found_where_the_answer_says(client: Client, engine: Engine) -> None:
    made = client.post("/api/jobs", {"task": "add", "args": {"a": 1, "b": 2}, "queue": "sums", "priority": 7})
    assert made.status_code == 201, made.text
    job = made.json()
    assert made.headers["location"] == f"/api/jobs/{job['id']}"
    assert made.headers["etag"] == '"1"'
    assert (job["created"], job["task"], job["queue"], job["priority"]) == (True, "add", "sums", 7)
    assert (job["state"], job["payload"]) == ("queued", {"a": 1, "b": 2})
    assert engine.get_job(job["id"]).state == "queued"


def test_every_option_arrives(client: Client, engine: Engine, clock: MovableClock) -> None:
    body = {
        "task": "flow",
        "args": {"n": 1},
        "start_after": "2026-01-01T01:00:00Z",
        "expires": "2h",
        "keep_until": "2027-01-01T00:00:00+02:00",
        "key": "k",
        "key_window": "1d",
        "duplicates": "reject",
        "timeout": "5m",
        "retry_limit": 4,
        "retry_delay": 2.5,
        "retry_backoff": False,
        "tags": ["a", "ü"],
        "correlation_id": "mine",
    }
    made = client.post("/api/jobs", body)
    assert made.status_code == 201, made.text
    job = engine.get_job(made.json()["id"])
    assert job.due_at_ms == clock.now_ms + 3_600_000
    assert job.expires_at_ms == clock.now_ms + 2 * 3_600_000
    assert job.keep_until_ms is not None
    assert (job.key, job.max_tries, job.correlation_id) == ("k", 5, "mine")
    assert json.loads(job.tags or "") == ["a", "ü"]
    assert json.loads(job.options or "") == {"timeout_ms": 300_000, "retry_delay_ms": 2_500, "retry_backoff": False}
    later = client.post("/api/jobs", {"task": "add", "args": {"a": 1}, "delay": "90s"}).json()
    assert engine.get_job(later["id"]).due_at_ms == clock.now_ms + 90_000


def test_the_trace_and_the_correlation_go_on_into_the_job_and_its_events(client: Client, engine: Engine) -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    headers = {"traceparent": f"00-{trace}-00f067aa0ba902b7-01", "X-Correlation-Id": "order-7"}
    job = client.post("/api/jobs", {"task": "add", "args": {"a": 1}}, headers=headers).json()
    assert (job["trace_id"], job["correlation_id"]) == (trace, "order-7")
    [event] = engine._inside.portal.call(_events(engine, job["id"]))
    assert (event.actor, event.trace_id, event.correlation_id) == ("local", trace, "order-7")
    bad = {"traceparent": "00-00000000000000000000000000000000-00f067aa0ba902b7-01"}
    assert client.post("/api/jobs", {"task": "add", "args": {"a": 1}}, headers=bad).json()["trace_id"] is None


async def _events(engine: Engine, job_id: str) -> list[Any]:
    return await (await engine._inside.opened()).reads.events(job_id)


def test_a_key_of_the_engine_gives_the_job_that_holds_it(client: Client, engine: Engine) -> None:
    body = {"task": "add", "args": {"a": 1}, "key": "once"}
    first, second = client.post("/api/jobs", body), client.post("/api/jobs", body)
    assert (first.status_code, second.status_code) == (201, 200)
    assert second.json()["created"] is False
    assert second.json()["id"] == first.json()["id"]
    assert "message" in second.json()
    refused = client.post("/api/jobs", body | {"duplicates": "reject"})
    assert (refused.status_code, refused.json()["code"], refused.json()["field"]) == (409, "duplicate_key", "key")
    replaced = client.post("/api/jobs", body | {"duplicates": "replace"})
    assert replaced.status_code == 201
    assert engine.get_job(first.json()["id"]).state == "cancelled"
    assert stored(engine) == 2


@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        ({"task": "nope"}, 404, "not_found", "task"),
        ({"task": "add"}, 422, "invalid_field", "args"),
        ({"task": "add", "args": {"a": "x"}}, 422, "invalid_field", "args.a"),
        ({"task": "add", "args": {"a": 1, "c": 2}}, 422, "invalid_field", "args"),
        ({"task": "greet", "args": {"ctx": 1, "name": "x"}}, 422, "invalid_field", "args"),
        ({"task": "add", "args": [1]}, 422, "invalid_field", "args"),
        ({"task": "add", "args": {"a": 1}, "delay": "soon"}, 422, "invalid_field", "delay"),
        ({"task": "add", "args": {"a": 1}, "delay": -1}, 422, "invalid_field", "delay"),
        ({"task": "add", "args": {"a": 1}, "delay": {}}, 422, "invalid_field", "delay"),
        ({"task": "add", "args": {"a": 1}, "delay": True}, 422, "invalid_field", "delay"),
        ({"task": "add", "args": {"a": 1}, "priority": "high"}, 422, "invalid_field", "priority"),
        ({"task": "add", "args": {"a": 1}, "priority": 2**40}, 422, "invalid_field", "priority"),
        ({"task": "add", "args": {"a": 1}, "start_after": "2026-01-01T00:00:00"}, 422, "invalid_field", "start_after"),
        ({"task": "add", "args": {"a": 1}, "duplicates": "maybe"}, 422, "invalid_field", "duplicates"),
        ({"task": "add", "args": {"a": 1}, "tags": "a"}, 422, "invalid_field", "tags"),
        ({"task": "add", "args": {"a": 1}, "tags": ["\x00"]}, 422, "invalid_field", "tags[0]"),
        ({"task": "add", "args": {"a": 1}, "queue": "q\x00"}, 422, "invalid_field", "queue"),
        ({"task": "add", "args": {"a": 1}, "queue": ""}, 422, "invalid_field", "queue"),
        ({"task": "add", "args": {"a": 1}, "retry_limit": -1}, 422, "invalid_field", "retry_limit"),
        ({"task": "add", "args": {"a": 1}, "wait": 10_000}, 422, "invalid_field", "wait"),
        ({"task": "add", "args": {"a": 1}, "wiat": 1}, 422, "invalid_field", "wiat"),
        ({"args": {}}, 422, "invalid_field", "task"),
        ([], 400, "invalid_body", None),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_created(
    client: Client, engine: Engine, body: Any, status: int, code: str, field: str | None
) -> None:
    answer = client.post("/api/jobs", body)
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem.get("field")) == (status, code, field), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert stored(engine) == 0


def test_an_unknown_task_is_told_which_there_are(client: Client) -> None:
    problem = client.post("/api/jobs", {"task": "ad"}).json()
    assert problem["allowed"] == ["add", "boom", "crawl", "flow", "greet"]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[" * 10_000,
        b'{"task": "add", "args": {"a": NaN}}',
        b'{"task": "add", "args": {"a": 1e999}}',
        b'{"task": "\\ud800"}',
        b'{"task": "add", "args": {"\\ud800": 1}}',
        b'{"task": "add", "args": {"a": 1, "b": 1' + b"0" * 5_000 + b"}}",
        b'{"task": "add", "args": {"a": 1}, "key": "\\udfff"}',
        b'{"task": "add", "args": {"a": 1}, "delay": 1e308}',
        b'{"task": "add", "args": {"a": 1}, "start_after": 1e308}',
        b"\xff\xfe",
    ],
)
def test_no_bytes_make_the_server_fail(client: Client, engine: Engine, raw: bytes) -> None:
    headers = {"content-type": "application/json", "idempotency-key": "k"}
    answer = client.request("POST", "/api/jobs", content=raw, headers=headers)
    assert 400 <= answer.status_code < 500, answer.text
    assert "code" in answer.json()
    assert stored(engine) == 0


def test_a_parameter_that_is_not_known_is_refused(client: Client, engine: Engine) -> None:
    answer = client.post("/api/jobs?wiat=true", {"task": "add", "args": {"a": 1}})
    assert (answer.status_code, answer.json()["code"]) == (400, "unknown_parameter")
    assert stored(engine) == 0


def command(**more: Any) -> dict[str, Any]:
    return {"type": "worker", "command": "true", **more}


def test_a_command_waits_in_the_sandbox_queue_with_its_defaults(client: Client, engine: Engine) -> None:
    made = client.post("/api/jobs", command())
    assert made.status_code == 201, made.text
    job = made.json()
    assert (job["lifecycle"], job["task"], job["queue"]) == ("sandbox", "holdfast.command", "sandbox")
    assert (job["state"], job["max_attempts"]) == ("pending", 1)
    assert job["payload"] == {
        "type": "worker",
        "command": "true",
        "cpus": 2,
        "memory_gb": 4,
        "timeout_minutes": 30,
        "network": False,
    }
    agent = client.post("/api/jobs", {"type": "agent", "task": "mend it"}).json()
    assert agent["payload"]["timeout_minutes"] == 60
    assert agent["payload"]["task"] == "mend it"


def test_more_than_the_most_is_the_most(client: Client) -> None:
    much = {"cpus": 99, "memory_gb": 99, "timeout_minutes": 999}
    kept = [client.post("/api/jobs", command(type=kind, **much)).json()["payload"] for kind in ("worker", "agent")]
    assert [(each["cpus"], each["memory_gb"], each["timeout_minutes"]) for each in kept] == [(8, 16, 120), (4, 8, 120)]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (command(type="robot"), "invalid_job_type"),
        (command(type=["worker"]), "invalid_job_type"),
        ({"type": "worker"}, "missing_command"),
        (command(command="  "), "missing_command"),
        ({"type": "agent"}, "missing_task"),
        (command(cpus=1.5), "invalid_cpus"),
        (command(cpus=0), "invalid_cpus"),
        (command(cpus=True), "invalid_cpus"),
        (command(memory_gb="4"), "invalid_memory"),
        (command(timeout_minutes=-1), "invalid_timeout"),
        (command(client_job_id="nope"), "invalid_client_job_id"),
        (command(client_job_id=str(uuid4()) + "0"), "invalid_client_job_id"),
        (command(client_job_id="6ba7b810-9dad-11d1-80b4-00c04fd430c8"), "invalid_client_job_id"),
        (command(client_job_id=7), "invalid_client_job_id"),
    ],
)
def test_a_wrong_command_has_its_own_code(client: Client, engine: Engine, body: dict[str, Any], code: str) -> None:
    answer = client.post("/api/jobs", body)
    assert (answer.status_code, answer.json()["code"]) == (400, code), answer.text
    assert stored(engine) == 0


@pytest.mark.rule("S07")
def test_a_client_job_id_is_a_uuid_of_version_4_in_any_case(client: Client, engine: Engine) -> None:
    own = str(uuid4())
    assert len(own) == 36
    first = client.post("/api/jobs", command(client_job_id=own))
    again = client.post("/api/jobs", command(client_job_id=own.upper()))
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json()["id"] == first.json()["id"]
    for wrong in ("", "x", own + "0", own.replace("-", ""), "6ba7b810-9dad-11d1-80b4-00c04fd430c8", 7, ["x"], None):
        answer = client.post("/api/jobs", command(client_job_id=wrong))
        if wrong is None:
            assert answer.status_code == 201
            continue
        problem = answer.json()
        assert (answer.status_code, problem["code"], problem["field"]) == (
            400,
            "invalid_client_job_id",
            "client_job_id",
        )
        assert "UUID v4" in problem["detail"]
    assert stored(engine) == 2


@pytest.mark.rule("S08")
def test_a_client_job_id_gives_its_job_until_that_is_cleaned(client: Client, engine: Engine) -> None:
    body = command(client_job_id=str(uuid4()))
    first = client.post("/api/jobs", body).json()
    for step in ([], [Command.CLAIM, Command.START], [Command.SUCCEED], [Command.CLEAN]):
        engine._inside.portal.call(_walk(engine, first["id"], step))
        again = client.post("/api/jobs", body | {"command": "other"})
        assert (again.status_code, again.json()["created"], again.json()["id"]) == (200, False, first["id"])
        assert "client_job_id" in again.json()["message"]
    engine._inside.portal.call(_walk(engine, first["id"], [Command.CLEANED]))
    anew = client.post("/api/jobs", body)
    assert (anew.status_code, anew.json()["created"]) == (201, True)
    assert anew.json()["id"] != first["id"]


async def _walk(engine: Engine, job_id: str, steps: Sequence[str]) -> None:
    store = await engine._inside.opened()
    for step in steps:
        if step == Command.CLAIM:
            assert await store.jobs.claim(["sandbox"], 1, "w", start=False)
            continue
        job = await store.reads.get(job_id)
        assert job is not None
        owner = "w" if job.lease_owner else None
        applied = await store.jobs.apply(move(engine._inside.table("sandbox"), [job], step, actor="test", owner=owner))
        assert applied.versions, applied.refused
