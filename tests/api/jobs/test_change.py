"""What is done to one job, or to many, over HTTP: once, and on record with who, why and when."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast import Engine
from holdfast.kernel.event import Event
from holdfast.kernel.lifecycle import Command
from holdfast.kernel.state import OVER, RANK
from holdfast.testing import MovableClock
from holdfast.views.find import until_over
from tests.api.calling import Client

GONE = "00000000-0000-7000-8000-000000000000"


def made(client: Client, task: str = "add", **more: Any) -> str:
    args = {"add": {"a": 1}, "boom": {"text": "x"}, "crawl": {"url": "u"}, "flow": {"n": 1}}[task]
    answer = client.post("/api/jobs", {"task": task, "args": args, **more})
    assert answer.status_code == 201, answer.text
    job_id: str = answer.json()["id"]
    return job_id


def events(engine: Engine, job_id: str) -> list[Event]:
    async def read() -> list[Event]:
        return await (await engine._inside.opened()).reads.events(job_id)

    return engine._inside.portal.call(read())


def claimed(engine: Engine, queue: str = "default", *, start: bool = True) -> None:
    async def claim() -> None:
        assert await (await engine._inside.opened()).jobs.claim([queue], 1, "w", start=start)

    engine._inside.portal.call(claim())


def keyed(key: str, **more: str) -> dict[str, Any]:
    return {"headers": {"Idempotency-Key": key, **more}}


@pytest.mark.parametrize("verb", ["cancel", "stop"])
def test_a_waiting_job_is_cancelled_at_once(client: Client, engine: Engine, verb: str) -> None:
    job_id = made(client)
    answer = client.post(f"/api/jobs/{job_id.upper()}/{verb}", {"reason": "no use"})
    assert answer.status_code == 200, answer.text
    assert (answer.json()["state"], answer.json()["version"]) == ("cancelled", 2)
    assert answer.headers["etag"] == '"2"'
    last = events(engine, job_id)[-1]
    assert (last.type, last.actor, last.reason) == ("job_cancelled", "local", "no use")


def test_a_running_job_is_asked_softly_or_taken(client: Client, engine: Engine) -> None:
    job_id = made(client)
    claimed(engine)
    soft = client.post(f"/api/jobs/{job_id}/cancel", {"reason": "why"})
    assert (soft.status_code, soft.json()["state"]) == (200, "running")
    assert soft.json()["cancel_requested"] == "soft: why"
    hard = client.post(f"/api/jobs/{job_id}/cancel", {"mode": "hard", "reason": "now"})
    assert (hard.status_code, hard.json()["state"]) == (200, "cancelled")


def test_a_get_stops_too_but_not_from_a_browser(client: Client, engine: Engine) -> None:
    job_id = made(client)
    for headers in ({"Sec-Fetch-Mode": "navigate"}, {"Accept": "text/html"}, {"Origin": "http://evil"}):
        refused = client.get(f"/api/jobs/{job_id}/stop", headers=headers)
        assert (refused.status_code, engine.get_job(job_id).state) == (405, "queued")
    assert client.get(f"/api/jobs/{job_id}/stop?reason=why").json()["state"] == "cancelled"
    assert events(engine, job_id)[-1].reason == "why"


@pytest.mark.rule("W11")
def test_a_workflow_job_is_stopped_from_every_state_that_is_not_final(client: Client, engine: Engine) -> None:
    table = engine._inside.table("workflow")
    living = [state for state in table.states if RANK[state.canonical] < OVER]
    assert {str(state) for state in living} == {"CREATED", "RETRY", "ACTIVE"}
    for state in living:
        for way in ("http", "python"):
            job_id = _standing(client, engine, str(state))
            assert engine.get_job(job_id).state == str(state)
            if way == "python":
                assert str(engine.cancel_job(job_id, mode="hard")) == "CANCELLED"
            else:
                answer = client.post(f"/api/jobs/{job_id}/stop", {"mode": "hard"})
                assert (answer.status_code, answer.json()["state"]) == (200, "CANCELLED"), answer.text
    for label in table.terminal_states():
        assert table.find(label.canonical, Command.CANCEL) is None


def _standing(client: Client, engine: Engine, label: str) -> str:
    from holdfast.kernel.move import move

    queue = f"q-{label}"
    job_id = made(client, "flow", queue=queue)

    async def walk() -> None:
        store = await engine._inside.opened()
        if label == "CREATED":
            return
        [job] = await store.jobs.claim([queue], 1, "w")
        if label == "RETRY":
            assert (
                await store.jobs.apply(move(engine._inside.table("workflow"), [job], "retry", actor="w", owner="w"))
            ).versions

    engine._inside.portal.call(walk())
    return job_id


def test_what_the_state_does_not_allow_is_409_and_says_what_it_does(client: Client, engine: Engine) -> None:
    job_id = made(client)
    for verb in ("resume", "replay"):
        problem = client.post(f"/api/jobs/{job_id}/{verb}").json()
        assert (problem["status"], problem["code"]) == (409, "conflict_state"), problem
        assert "cancel" in problem["allowed"]
    problem = client.delete(f"/api/jobs/{job_id}").json()
    assert (problem["status"], problem["code"]) == (409, "conflict_state")
    client.post(f"/api/jobs/{job_id}/cancel")
    problem = client.post(f"/api/jobs/{job_id}/cancel").json()
    assert (problem["status"], problem["code"]) == (409, "conflict_state")


@pytest.mark.parametrize("job_id", [GONE, "nope", "QUEUED", "%00", "%F0%9F%92%A9", "x" * 300])
def test_a_job_that_is_not_there_is_404(client: Client, job_id: str) -> None:
    for verb in ("cancel", "stop", "resume", "retry", "replay"):
        answer = client.post(f"/api/jobs/{job_id}/{verb}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), answer.text
    assert client.delete(f"/api/jobs/{job_id}").status_code == 404


def test_a_wrong_body_changes_nothing(client: Client, engine: Engine) -> None:
    job_id = made(client)
    wrong: list[Any] = [{"mode": "gentle"}, {"reason": ""}, {"reason": 7}, {"why": "x"}, {"reason": "\x00"}, []]
    for body in wrong:
        answer = client.post(f"/api/jobs/{job_id}/cancel", body)
        assert answer.status_code in (400, 422), answer.text
    assert client.post(f"/api/jobs/{job_id}/cancel?mode=hard").json()["code"] == "unknown_parameter"
    assert engine.get_job(job_id).state == "queued"


def test_if_match_holds_a_change_to_the_version_that_was_seen(client: Client, engine: Engine) -> None:
    job_id = made(client)
    stale = client.post(f"/api/jobs/{job_id}/cancel", headers={"If-Match": '"9"'})
    assert (stale.status_code, stale.json()["code"]) == (412, "precondition_failed")
    assert client.post(f"/api/jobs/{job_id}/cancel", headers={"If-Match": "x"}).status_code == 400
    assert engine.get_job(job_id).state == "queued"
    how = keyed("k", **{"If-Match": '"1"'})
    first = client.post(f"/api/jobs/{job_id}/cancel", **how)
    again = client.post(f"/api/jobs/{job_id}/cancel", **how)
    assert (first.status_code, again.content) == (200, first.content)


def test_a_cancelled_workflow_job_is_resumed(client: Client, engine: Engine) -> None:
    job_id = made(client, "flow")
    client.post(f"/api/jobs/{job_id}/cancel")
    answer = client.post(f"/api/jobs/{job_id}/resume", {"reason": "after all"})
    assert answer.status_code == 200, answer.text
    assert (answer.json()["canonical_state"], answer.json()["attempt"]) == ("queued", 2)
    assert events(engine, job_id)[-1].reason == "after all"


def test_a_retry_hastens_what_waits_and_submits_anew_what_failed(client: Client, engine: Engine) -> None:
    waiting = made(client, delay="1h")
    hastened = client.post(f"/api/jobs/{waiting}/retry")
    assert (hastened.status_code, hastened.json()["is_new"], hastened.json()["id"]) == (200, False, waiting)
    due = client.post(f"/api/jobs/{waiting}/retry", **keyed("due"))
    assert (due.status_code, due.json()["is_new"]) == (200, False)
    assert client.post(f"/api/jobs/{waiting}/retry", **keyed("due")).content == due.content
    client.post(f"/api/jobs/{waiting}/cancel")
    anew = client.post(f"/api/jobs/{waiting}/retry", **keyed("r"))
    assert (anew.json()["is_new"], anew.json()["retry_of"], anew.json()["parent_id"]) == (True, waiting, waiting)
    again = client.post(f"/api/jobs/{waiting}/retry", **keyed("r"))
    assert again.content == anew.content
    assert len(engine.list_jobs()) == 2


def test_a_finished_job_is_removed_once(client: Client, engine: Engine) -> None:
    job_id = made(client)
    client.post(f"/api/jobs/{job_id}/cancel")
    gone = client.delete(f"/api/jobs/{job_id}", **keyed("d"))
    assert (gone.status_code, gone.json()["deleted"]) == (200, True), gone.text
    again = client.delete(f"/api/jobs/{job_id}", **keyed("d"))
    assert (again.status_code, again.content) == (200, gone.content)
    assert client.delete(f"/api/jobs/{job_id}").status_code == 404
    assert not engine.list_jobs()


@pytest.mark.slow
@pytest.mark.rule("D06")
def test_a_transition_repeated_under_its_key_has_one_effect_and_one_answer(
    client: Client, engine: Engine, clock: MovableClock
) -> None:
    plain, flow = made(client), made(client, "flow")
    client.post(f"/api/jobs/{flow}/cancel")
    running = made(client, queue="r")
    claimed(engine, "r")
    dead = _dead_lettered(client, engine)
    asked: list[tuple[str, str, dict[str, Any]]] = [
        (plain, "cancel", {"reason": "why"}),
        (running, "stop", {"reason": "softly"}),
        (running, "cancel", {"mode": "hard"}),
        (plain, "retry", {}),
        (flow, "resume", {}),
        (dead, "replay", {"edits": {"text": "mended"}}),
    ]
    for n, (job_id, verb, body) in enumerate(asked):
        first = client.post(f"/api/jobs/{job_id}/{verb}", body, **keyed(f"k{n}"))
        assert first.status_code in (200, 201), first.text
        before = len(engine.list_jobs()), [len(events(engine, each)) for each in (plain, flow, running, dead)]
        clock.advance("1h")
        call = ("POST", f"/api/jobs/{job_id}/{verb}", {"json": body, **keyed(f"k{n}")})
        for again in client.together([call] * 8):
            assert (again.status_code, again.content) == (first.status_code, first.content)
        after = len(engine.list_jobs()), [len(events(engine, each)) for each in (plain, flow, running, dead)]
        assert after == before
        other = client.post(f"/api/jobs/{job_id}/{verb}", {"reason": "another"}, **keyed(f"k{n}"))
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
    # The first answer stands even where the job has moved on since, and where it was a refusal.
    refused = client.post(f"/api/jobs/{plain}/resume", **keyed("no"))
    assert refused.status_code == 409
    assert client.post(f"/api/jobs/{plain}/resume", **keyed("no")).content == refused.content


def _dead_lettered(client: Client, engine: Engine) -> str:
    with engine.worker(concurrency=1, queues=["dead"]):
        answer = client.post("/api/jobs?wait=20", {"task": "boom", "args": {"text": "x"}, "queue": "dead"})
    assert answer.json()["canonical_state"] == "dead_lettered", answer.text
    job_id: str = answer.json()["id"]
    return job_id


@pytest.mark.rule("D27")
def test_every_transition_says_when_who_why_and_in_which_correlation(
    client: Client, engine: Engine, clock: MovableClock
) -> None:
    job_id = made(client, "flow", correlation_id="order-7", queue="w")
    clock.advance("1s")
    client.post(f"/api/jobs/{job_id}/cancel", {"reason": "first"})
    clock.advance("1s")
    client.post(f"/api/jobs/{job_id}/resume", {"reason": "second"})
    clock.advance("1s")
    with engine.worker(concurrency=1, queues=["w"]):
        engine._inside.portal.call(_over(engine, job_id), 30)
    told = events(engine, job_id)
    assert [event.type for event in told][:3] == ["job_submitted", "job_cancelled", "job_resumed"]
    assert [event.at_ms - told[0].at_ms for event in told][:3] == [0, 1_000, 2_000]
    assert [event.reason for event in told][1:3] == ["first", "second"]
    assert {event.actor for event in told[:3]} == {"local"}
    for event in told:
        assert event.correlation_id == "order-7"
        assert event.actor
        assert event.at_ms


async def _over(engine: Engine, job_id: str) -> None:

    assert await until_over(await engine._inside.opened(), job_id, 20)
