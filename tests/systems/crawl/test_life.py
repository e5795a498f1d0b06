"""A crawl job's whole life as a client sees it: every trigger by what it leaves behind."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast import Context, Engine, PermanentError
from holdfast.store.port import Lease
from holdfast.testing import MovableClock
from holdfast.views.find import until_over
from tests.api.calling import client_of


@pytest.mark.rule("C03")
def test_every_trigger_of_a_crawl_is_seen_over_http(app: Engine, clock: MovableClock) -> None:
    """accept, start(worker), heartbeat, progress, complete(stats), error(code), cancel."""
    client = client_of(app)

    @app.task(lifecycle="crawl", queue="pages")
    def pages(ctx: Context, code: str | None = None) -> dict[str, int]:
        ctx.progress(3, 10, urls_processed=3)
        if code is not None:
            raise PermanentError("no", code=code)
        return {"documents": 3}

    def accept(**args: str) -> dict[str, Any]:
        answer = client.post("/api/jobs", {"task": "pages", "args": args})
        assert (answer.status_code, answer.json()["state"]) == (201, "queued"), answer.text
        job: dict[str, Any] = answer.json()
        return job

    def shown(job: dict[str, Any]) -> dict[str, Any]:
        view: dict[str, Any] = client.get(f"/api/jobs/{job['id']}").json()
        return view

    def types(job: dict[str, Any]) -> list[str]:
        return [event["type"] for event in client.get(f"/api/jobs/{job['id']}/events").json()["items"]]

    triggers = client.get("/api/lifecycles/crawl").json()["triggers"]
    assert set(triggers) == {"accept", "start", "heartbeat", "progress", "complete", "error", "cancel"}
    never = accept()
    cancelled = client.post(f"/api/jobs/{never['id']}/cancel", {"reason": "no use"}).json()
    assert (cancelled["state"], cancelled["canonical_state"]) == ("canceled", "cancelled")
    assert cancelled["canceled_at"] == cancelled["finished_at"] is not None
    assert types(never) == ["job_accepted", "job_cancelled"]

    held = accept()
    app._inside.portal.call(_start_and_beat(app, clock))
    running = shown(held)
    assert (running["state"], running["lease"]["owner"]) == ("running", "crawler-1")
    assert running["started_at"] < running["updated_at"], "its last sign of life"
    client.post(f"/api/jobs/{held['id']}/cancel", {"mode": "hard"})

    good, bad = accept(), accept(code="invalid_url")
    with app.worker(concurrency=1, queues=["pages"]):
        for job in (good, bad):
            app._inside.portal.call(_over(app, job["id"]), 30)
    assert types(good) == ["job_accepted", "job_started", "job_succeeded"]
    assert shown(good)["progress"]["counters"]["urls_processed"] == 3
    assert client.get(f"/api/jobs/{good['id']}/result").json()["result"] == {"documents": 3}
    assert types(bad) == ["job_accepted", "job_started", "job_failed"]
    assert (shown(bad)["state"], shown(bad)["error"]["code"]) == ("failed", "invalid_url")


async def _start_and_beat(app: Engine, clock: MovableClock) -> None:
    store = await app._inside.opened()
    [job] = await store.jobs.claim(["pages"], 1, "crawler-1")
    clock.advance("10s")
    assert await store.jobs.renew("crawler-1", [Lease(job.id, job.attempt)]) == []


async def _over(app: Engine, job_id: str) -> None:
    assert await until_over(await app._inside.opened(), job_id, 20)
