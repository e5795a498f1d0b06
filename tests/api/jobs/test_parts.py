"""What belongs to one job: events, attempts, log, files, result, explanation, family, certificate."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from uuid_utils import uuid7

from holdfast import Context, Engine
from holdfast.audit.verdict import verify
from holdfast.chores.sealer import Sealer
from holdfast.kernel.job import Spec
from holdfast.store.port import Signal
from holdfast.testing import drain
from tests.api.calling import Client

PARTS = ("events", "attempts", "logs", "artifacts", "artifacts/x", "result", "explain", "graph", "certificate")
NOBODY = "018bcfe5-6800-7000-8000-000000000001"


MUCH = bytes(range(256)) * 12_345


def leave_much(ctx: Context) -> None:
    ctx.artifact("much", MUCH)
    ctx.artifact("none", b"")


def leave(ctx: Context, name: str) -> str:
    ctx.artifact(name, b"<script>alert(1)</script>")
    ctx.log.info("left it", bytes=25)
    return name


def test_events_and_attempts(client: Client, engine: Engine) -> None:
    job = engine.submit("boom", {"text": "x"})
    drain(engine)
    events = client.get(f"/api/jobs/{job.id}/events").json()["items"]
    assert events[0]["type"] == "job_submitted"
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["to"] == "dead_lettered"
    assert events[0].keys() >= {"seq", "type", "from", "to", "at", "actor", "attempt", "reason", "correlation_id"}
    [attempt] = client.get(f"/api/jobs/{job.id}/attempts").json()["items"]
    assert (attempt["number"], attempt["end"]) == (1, events[-1]["type"])
    assert attempt["detail"]["error"]["code"] == "bad_request"


@pytest.mark.parametrize("part", PARTS)
def test_no_part_of_a_job_that_is_not_there(client: Client, part: str) -> None:
    for job_id in (NOBODY, "nonsense", "%00"):
        answer = client.get(f"/api/jobs/{job_id}/{part}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), answer.text


@pytest.mark.parametrize("part", PARTS)
def test_no_part_takes_an_unknown_parameter(client: Client, engine: Engine, part: str) -> None:
    job = engine.submit("add", {"a": 1})
    answer = client.get(f"/api/jobs/{job.id}/{part}", params={"offset": 3})
    assert (answer.status_code, answer.json()["code"]) == (400, "unknown_parameter")


def say(engine: Engine, job_id: str, lines: list[dict[str, Any]]) -> None:
    async def signal() -> None:
        store = await engine._inside.opened()
        await store.jobs.signal([Signal(job_id, 1, "job_log", "w", json.dumps(line)) for line in lines])
        await store.jobs.signal([Signal(job_id, 1, "job_heartbeat", "w")])

    engine._inside.portal.call(signal())


def test_logs_as_json_lines_and_as_text(client: Client, engine: Engine) -> None:
    job = engine.submit("add", {"a": 1})
    at_ms = 1_767_225_600_123
    said = [
        {"time_ms": at_ms, "level": "info", "event": "first\nline", "fields": {"n": 1, "text": "ü"}},
        {"time_ms": at_ms + 1, "level": "warning", "event": "second", "fields": {}},
    ]
    say(engine, job.id, said)
    answer = client.get(f"/api/jobs/{job.id}/logs")
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert [(line["event"], line["level"], line["fields"]) for line in lines] == [
        ("first\nline", "info", {"n": 1, "text": "ü"}),
        ("second", "warning", {}),
    ]
    assert lines[0]["at"] == "2026-01-01T00:00:00.123Z"
    text = client.get(f"/api/jobs/{job.id}/logs", headers={"Accept": "text/plain"})
    assert text.headers["content-type"].startswith("text/plain")
    assert text.text.splitlines() == [
        '2026-01-01T00:00:00.123Z info    first\\nline n=1 text="ü"',
        "2026-01-01T00:00:00.124Z warning second",
    ]
    on = client.get(f"/api/jobs/{job.id}/logs", params={"after": lines[0]["id"]}).text
    assert [json.loads(line)["event"] for line in on.splitlines()] == ["second"]
    assert client.get(f"/api/jobs/{job.id}/logs", params={"limit": 1}).text.count("\n") == 1
    for params in ({"limit": 0}, {"limit": 10_001}, {"after": -1}, {"after": "x"}, {"after": 10**30}):
        assert client.get(f"/api/jobs/{job.id}/logs", params=params).status_code == 400


@pytest.mark.parametrize("name", ["a.html", "dir/ü 1.txt", 'quote".txt', "a%2Fb"])
def test_artifacts_are_saved_and_never_run(client: Client, engine: Engine, name: str) -> None:
    engine.task(leave)
    job = engine.submit("leave", {"name": name})
    drain(engine)
    [listed] = client.get(f"/api/jobs/{job.id}/artifacts").json()["items"]
    assert (listed["name"], listed["size"]) == (name, 25)
    answer = client.get(f"/api/jobs/{job.id}/artifacts/{quote(name, safe='')}")
    assert answer.status_code == 200, answer.text
    assert answer.content == b"<script>alert(1)</script>"
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"].startswith("attachment; filename*=UTF-8''")


def test_a_large_artifact_comes_as_it_is_with_its_length(client: Client, engine: Engine) -> None:
    engine.task(leave_much)
    job = engine.submit("leave_much", {})
    drain(engine)
    answer = client.get(f"/api/jobs/{job.id}/artifacts/much")
    assert answer.headers["content-length"] == str(len(MUCH))
    assert answer.content == MUCH
    empty = client.get(f"/api/jobs/{job.id}/artifacts/none")
    assert (empty.status_code, empty.content, empty.headers["content-length"]) == (200, b"", "0")


def test_an_artifact_whose_bytes_are_gone_is_not_found(client: Client, engine: Engine) -> None:
    engine.task(leave)
    job = engine.submit("leave", {"name": "a.txt"})
    drain(engine)

    async def lose() -> int:
        files = (await engine._inside.opened()).files
        return await files.remove(await files.idle(1 << 62), 1 << 62)

    assert engine._inside.portal.call(lose()) == 1
    assert client.get(f"/api/jobs/{job.id}/artifacts/a.txt").status_code == 404


def test_an_artifact_that_is_not_there_names_those_that_are(client: Client, engine: Engine) -> None:
    engine.task(leave)
    job = engine.submit("leave", {"name": "a.txt"})
    drain(engine)
    for name in ("b.txt", "%00", "a.txt/"):
        answer = client.get(f"/api/jobs/{job.id}/artifacts/{name}")
        assert (answer.status_code, answer.json()["allowed"]) == (404, ["a.txt"])


def test_what_a_handler_logs_arrives(client: Client, engine: Engine) -> None:
    engine.task(leave)
    job = engine.submit("leave", {"name": "a.txt"})
    drain(engine)
    lines = [json.loads(line) for line in client.get(f"/api/jobs/{job.id}/logs").text.splitlines()]
    assert [(line["event"], line["fields"]) for line in lines] == [("left it", {"bytes": 25})]


def test_a_result_is_there_once_it_is_good(client: Client, engine: Engine) -> None:
    good, bad, slow = (engine.submit(*call) for call in (("add", {"a": 1}), ("boom", {"text": ""}), ("flow", {"n": 1})))
    for job, state in ((good, "queued"), (slow, "CREATED")):
        answer = client.get(f"/api/jobs/{job.id}/result")
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict_state")
        assert f"is {state}" in answer.json()["detail"]
    drain(engine)
    answer = client.get(f"/api/jobs/{good.id}/result")
    wanted = {"id": good.id, "state": "succeeded", "canonical_state": "succeeded", "result": 2}
    assert (answer.status_code, answer.json()) == (200, wanted)
    answer = client.get(f"/api/jobs/{bad.id}/result")
    assert answer.status_code == 409
    assert "is dead_lettered: bad_request: it does that" in answer.json()["detail"]


def test_explain(client: Client, engine: Engine) -> None:
    job = engine.submit("add", {"a": 1})
    said = client.get(f"/api/jobs/{job.id}/explain").json()
    assert said["sentence"].startswith("queued: due")
    assert said["command"].startswith("holdfast worker")


def test_graph(client: Client, engine: Engine) -> None:
    async def family() -> list[str]:
        store = await engine._inside.opened()
        ids = [str(uuid7()) for _ in range(5)]
        parents = [None, ids[0], ids[1], ids[1], ids[3]]
        specs = [Spec(i, "durable", "add", '{"a":1}', parent_id=p) for i, p in zip(ids, parents, strict=True)]
        await store.jobs.submit(specs)
        return ids

    ids = engine._inside.portal.call(family())
    graph = client.get(f"/api/jobs/{ids[1]}/graph").json()
    assert [node["id"] for node in graph["nodes"]] == ids
    edges = {(edge["from"], edge["to"]) for edge in graph["edges"]}
    assert edges == {(ids[0], ids[1]), (ids[1], ids[2]), (ids[1], ids[3]), (ids[3], ids[4])}
    assert graph["truncated"] is False
    # Upwards to the first, downwards to the last, but not sideways.
    assert {node["id"] for node in client.get(f"/api/jobs/{ids[3]}/graph").json()["nodes"]} == {*ids} - {ids[2]}


def test_a_large_family_is_cut(client: Client, engine: Engine) -> None:
    async def family() -> str:
        store = await engine._inside.opened()
        parent = str(uuid7())
        await store.jobs.submit([Spec(parent, "durable", "add", '{"a":1}')])
        await store.jobs.submit([Spec(str(uuid7()), "durable", "add", "{}", parent_id=parent) for _ in range(600)])
        return parent

    graph = client.get(f"/api/jobs/{engine._inside.portal.call(family())}/graph").json()
    assert (len(graph["nodes"]), graph["truncated"]) == (500, True)


def test_certificate(client: Client, engine: Engine) -> None:
    job = engine.submit("add", {"a": 1})
    drain(engine)
    early = client.get(f"/api/jobs/{job.id}/certificate")
    assert (early.status_code, early.json()["code"]) == (409, "conflict_state")
    assert early.headers["retry-after"] == "5"

    async def seal() -> None:
        await Sealer(await engine._inside.opened()).seal_all()

    engine._inside.portal.call(seal())
    answer = client.get(f"/api/jobs/{job.id}/certificate")
    assert answer.status_code == 200, answer.text
    assert verify(answer.json()).ok
