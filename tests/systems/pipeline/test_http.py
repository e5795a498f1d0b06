"""Pipelines over HTTP: start, list, show, cancel, and the stream of a run."""

import asyncio
import threading
from typing import Any

import httpx
import pytest

from holdfast import Engine, StageContext
from holdfast.api.app import create_app
from holdfast.systems.pipeline.declare.pipeline import Pipeline
from holdfast.testing import drain
from tests.api.calling import Client, client_of
from tests.api.streaming import Message, reading, serving
from tests.working import until, working

JOBS = "/api/pipeline/jobs"


@pytest.fixture
def gate() -> threading.Event:
    return threading.Event()


@pytest.fixture
def pipe(app: Engine, gate: threading.Event) -> Pipeline[dict[str, Any]]:
    pipe = app.pipeline("web")

    @pipe.stage
    def first(config: dict[str, Any]) -> int:
        if config.get("broken"):
            raise RuntimeError("no luck")
        return 1

    @pipe.stage
    def second(ctx: StageContext, config: dict[str, Any]) -> int:
        if config.get("wait"):
            while not gate.wait(0.01):
                ctx.progress(1, 4)
        return 2

    @pipe.stage(enabled="extra")
    def third() -> int:
        return 3

    alone = app.pipeline("web_alone", single=True)
    alone.stage(name="only")(lambda: 1)
    return pipe


@pytest.fixture
def client(app: Engine, pipe: Pipeline[dict[str, Any]]) -> Client:
    return client_of(app)


@pytest.mark.rule("P11")
def test_start_list_show_cancel(app: Engine, client: Client, gate: threading.Event) -> None:
    started = client.post(JOBS, {"pipeline": "web", "config": {"extra": True}})
    assert started.status_code == 202
    body = started.json()
    job_id = body["job_id"]
    assert body["status_url"] == f"{JOBS}/{job_id}"
    assert body["stream_url"] == f"{JOBS}/{job_id}/stream"
    assert body["trace_id"] == client.get(body["status_url"]).json()["trace_id"] != ""
    waiting = client.get(body["status_url"]).json()
    assert waiting["state"] == "PENDING"
    assert [stage["status"] for stage in waiting["stages"]] == ["pending"] * 3
    drain(app)
    shown = client.get(body["status_url"]).json()
    assert shown["state"] == "COMPLETED"
    assert [(stage["name"], stage["status"]) for stage in shown["stages"]] == [
        ("first", "completed"),
        ("second", "completed"),
        ("third", "completed"),
    ]
    assert shown["result"] == {"first": 1, "second": 2, "third": 3}
    assert client.post(f"{JOBS}/{job_id}/cancel").json() == {
        "cancelled": False,
        "reason": "Job is already COMPLETED",
    }

    other = client.post(JOBS, {"pipeline": "web"}).json()["job_id"]
    assert client.post(f"{JOBS}/{other}/cancel", {"reason": "enough"}).json() == {"cancelled": True}
    assert client.get(f"{JOBS}/{other}").json()["state"] == "CANCELLED"
    assert client.post(f"{JOBS}/{other}/cancel").json()["reason"] == "Job is already CANCELLED"

    listed = client.get(JOBS).json()["items"]
    assert [job["id"] for job in listed] == [other, job_id]
    assert [job["id"] for job in client.get(f"{JOBS}?state=COMPLETED").json()["items"]] == [job_id]
    assert client.get(f"{JOBS}?pipeline=web_alone").json()["items"] == []
    page = client.get(f"{JOBS}?limit=1").json()
    assert [job["id"] for job in page["items"]] == [other]
    assert [job["id"] for job in client.get(f"{JOBS}?limit=1&cursor={page['next_cursor']}").json()["items"]] == [job_id]

    with working(app):
        running = client.post(JOBS, {"pipeline": "web", "config": {"wait": True}}).json()["job_id"]
        until(lambda: client.get(f"{JOBS}/{running}").json()["stages"][1]["status"] == "running")
        assert client.post(f"{JOBS}/{running}/cancel").json() == {"cancelled": True}
        until(lambda: client.get(f"{JOBS}/{running}").json()["state"] == "CANCELLED")


def test_a_repeat_under_its_key_starts_nothing_more(app: Engine, client: Client) -> None:
    body = {"pipeline": "web", "config": {}}
    first, again = (client.post(JOBS, body, headers={"Idempotency-Key": "k1"}) for _ in range(2))
    assert (first.status_code, again.status_code) == (202, 202)
    assert first.content == again.content
    other = client.post(JOBS, {"pipeline": "web", "config": {"extra": True}}, headers={"Idempotency-Key": "k1"})
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
    cancel = f"{JOBS}/{first.json()['job_id']}/cancel"
    twice = [client.post(cancel, headers={"Idempotency-Key": "k2"}).json() for _ in range(2)]
    assert twice == [{"cancelled": True}] * 2, "the first answer, not 'already'"
    assert len(app.list_jobs()) == 1


def test_one_run_at_a_time(client: Client) -> None:
    first = client.post(JOBS, {"pipeline": "web_alone"})
    again = client.post(JOBS, {"pipeline": "web_alone"})
    assert (first.status_code, again.status_code) == (202, 200)
    assert (again.json()["created"], again.json()["job_id"]) == (False, first.json()["job_id"])
    refused = client.post(JOBS, {"pipeline": "web_alone", "duplicates": "reject"})
    assert (refused.status_code, refused.json()["code"]) == (409, "duplicate_key")


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"pipeline": "nothing"}, 404, "pipeline"),
        ({}, 422, "pipeline"),
        ({"pipeline": "web", "config": []}, 422, "config"),
        ({"pipeline": "web", "colour": "red"}, 422, "colour"),
        ({"pipeline": "web_alone", "key": "mine"}, 422, "key"),
    ],
)
def test_what_is_wrong_is_named(app: Engine, client: Client, body: dict[str, Any], status: int, field: str) -> None:
    answer = client.post(JOBS, body)
    assert (answer.status_code, answer.json()["field"]) == (status, field)
    assert app.list_jobs() == []


def test_unknown_runs_and_parameters(app: Engine, client: Client) -> None:
    @app.task
    def plain() -> int:
        return 1

    durable = plain.submit().id
    for job_id in ("nothing", "00000000-0000-7000-8000-000000000000", durable):
        for answer in (
            client.get(f"{JOBS}/{job_id}"),
            client.post(f"{JOBS}/{job_id}/cancel"),
            client.get(f"{JOBS}/{job_id}/stream"),
        ):
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert client.get(f"{JOBS}?sate=x").json()["code"] == "unknown_parameter"
    assert client.get(f"{JOBS}?state=asleep").status_code == 400


async def _stream(url: str, path: str, last_id: str | None = None, take: int | None = None) -> list[Message]:
    async with httpx.AsyncClient(base_url=url) as http, reading(http, path, last_id) as reader:
        return await (reader.rest() if take is None else reader.take(take))


def kinds(messages: list[Message]) -> list[tuple[str | None, str | None]]:
    return [(message.event, message.data.get("stage")) for message in messages]


def test_the_stream_of_a_run(app: Engine, pipe: Pipeline[dict[str, Any]], gate: threading.Event) -> None:
    with serving(app, create_app(app._inside)) as served, working(app):
        job = pipe.submit(wait=True)
        path = f"{JOBS}/{job.id}/stream"
        begun = asyncio.run(_stream(served.url, path, take=4))
        assert kinds(begun) == [
            ("stage_start", "first"),
            ("stage_complete", "first"),
            ("stage_start", "second"),
            ("stage_progress", "second"),
        ]
        assert begun[3].data["progress"]["done"] == 1
        gate.set()
        rest = asyncio.run(_stream(served.url, path, last_id=begun[2].id))
        told = [kind for kind in kinds(rest) if kind[0] != "stage_progress"]
        assert told == [("stage_complete", "second"), ("stage_complete", "third"), ("job_complete", None)]
        assert rest[-1].data["state"] == "COMPLETED"
        assert rest[-1].data["stages"] == {"first": "completed", "second": "completed", "third": "skipped"}
        assert httpx.get(f"{served.url}{path}", headers={"Last-Event-ID": rest[-1].id or ""}).status_code == 204
        bad = httpx.get(f"{served.url}{path}", headers={"Last-Event-ID": "x"})
        assert (bad.status_code, bad.json()["code"]) == (400, "invalid_parameter")

        broken = pipe.submit(broken=True)
        said = asyncio.run(_stream(served.url, f"{JOBS}/{broken.id}/stream"))
        assert kinds(said) == [
            ("stage_start", "first"),
            ("stage_complete", "first"),
            ("error", None),
            ("job_complete", None),
        ]
        assert said[1].data["status"] == "failed"
        assert said[2].data["code"] == "stage_failed"
        assert said[3].data["state"] == "FAILED"
