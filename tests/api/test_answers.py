"""Every answer to a change is what the OpenAPI document says of it."""

from __future__ import annotations

from fastapi.routing import APIRoute
from pydantic import BaseModel

from holdfast import Engine
from holdfast.api.admin import dead, queues, schedules
from holdfast.api.jobs import batch
from holdfast.api.jobs import bulk as jobs_bulk
from holdfast.api.jobs import change as jobs_change
from holdfast.api.jobs import create as jobs_create
from tests.api.calling import Client

CHANGES = ("POST", "DELETE")
ROUTERS = [each.router for each in (jobs_create, batch, jobs_bulk, jobs_change, dead, queues, schedules)]


def models() -> dict[tuple[str, str, int], type[BaseModel]]:
    """(method, path, status) → the model, of each change that is described."""
    return {
        (method, route.path, int(status)): said["model"]
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute)
        for status, said in route.responses.items()
        if "model" in said
        for method in route.methods or ()
    }


def test_every_answer_fits_its_model(client: Client, engine: Engine) -> None:
    engine.schedule("hourly", "add", cron="0 * * * *", args={"a": 1})
    known = models()
    seen = set()

    def call(method: str, template: str, body: object = None, **names: str) -> dict[str, object]:
        path = f"/api{template.format(**names)}"
        answer = client.request(method, path, json=body) if body is not None else client.request(method, path)
        assert answer.status_code < 300, answer.text
        key = (method, template.partition("?")[0], answer.status_code)
        seen.add(key)
        known[key].model_validate(answer.json())
        told: dict[str, object] = answer.json()
        return told

    add = {"task": "add", "args": {"a": 1}}
    job_id = str(call("POST", "/jobs", {**add, "key": "k"})["id"])
    call("POST", "/jobs", {**add, "key": "k"})
    call("POST", "/jobs", {**add, "wait": 0.01})
    call("POST", "/jobs", {"type": "worker", "command": "true"})
    call("POST", "/jobs/batch", {"jobs": [add, {**add, "key": "k"}]})
    call("POST", "/jobs/batch", {"jobs": [{**add, "key": "k"}]})
    call("POST", "/jobs/{id}/cancel", id=job_id)
    call("POST", "/jobs/{id}/retry", id=job_id)
    call("DELETE", "/jobs/{id}", id=job_id)
    flow = str(call("POST", "/jobs", {"task": "flow", "args": {"n": 1}})["id"])
    call("POST", "/jobs/{id}/stop", id=flow)
    call("POST", "/jobs/{id}/resume", id=flow)
    call("GET", "/jobs/{id}/stop", id=flow)
    call("POST", "/jobs/cancel", {"task": "add", "dry_run": False})
    with engine.worker(concurrency=1):
        dead = str(call("POST", "/jobs", {"task": "boom", "args": {"text": "x"}, "wait": 20})["id"])
    assert [letter["job_id"] for letter in client.get("/api/dead").json()["items"]] == [dead]
    assert client.get("/api/dead/groups").json()["items"][0]["count"] == 1
    call("POST", "/dead/discard", {"filter": {"task": "boom"}})
    call("POST", "/dead/replay", {"ids": [dead], "dry_run": False})
    call("POST", "/jobs/{id}/replay", id=dead)
    call("POST", "/queues/{name}/pause", {"reason": "r"}, name="q")
    call("POST", "/queues/{name}/resume", name="q")
    for verb in ("pause", "resume", "run"):
        call("POST", f"/schedules/{{name}}/{verb}", name="hourly")
    call("DELETE", "/schedules/{name}", name="hourly")
    described = {(method, path) for method, path, _ in known if method in CHANGES}
    assert {(method, path) for method, path, _ in seen if method in CHANGES} == described
