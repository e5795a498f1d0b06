"""What each command does to a job, done with requests and nothing else. See test_as_cli."""

from __future__ import annotations

import json
from typing import Any

from holdfast.audit.verdict import verify
from tests.api.caller import HELD, Caller, Ways
from tests.working import until

JOBS = Ways()


@JOBS.way("run")
def run(caller: Caller) -> None:
    job = caller.done(priority=3, delay="10ms")
    assert (job["state"], job["result"], job["priority"]) == ("succeeded", "A B", 3)
    waiting = caller.made(key="once", queue=HELD)
    assert (caller.made(status=200, key="once")["id"], waiting["key"]) == (waiting["id"], "once")


@JOBS.way("job list")
def job_list(caller: Caller) -> None:
    made = [caller.made(queue=HELD, tags=["x"])["id"] for _ in range(3)]
    where = {"state": "queued", "task": "say", "queue": HELD, "lifecycle": "durable", "limit": 2}
    first = caller.get("/jobs", **where)
    second = caller.get("/jobs", **where, cursor=first["next_cursor"])
    assert [job["id"] for job in first["items"] + second["items"]][:3] == made[::-1]


@JOBS.way("job show")
def job_show(caller: Caller) -> None:
    job = caller.done()
    assert caller.get(f"/jobs/{job['id']}") == {name: value for name, value in job.items() if name != "created"}


@JOBS.way("job events")
def job_events(caller: Caller) -> None:
    events = caller.get(f"/jobs/{caller.done()['id']}/events")["items"]
    assert [event["to"] for event in events] == ["queued", "assigned", "running", "succeeded"]


@JOBS.way("job wait")
def job_wait(caller: Caller) -> None:
    """The end of the job's stream is its end; its result stands beside it."""
    job_id = caller.made()["id"]
    assert caller.messages(f"/jobs/{job_id}/stream")[-1] == (
        "end",
        {"state": "succeeded", "canonical_state": "succeeded"},
    )
    assert caller.get(f"/jobs/{job_id}/result")["result"] == "A B"


@JOBS.way("job watch")
def job_watch(caller: Caller) -> None:
    told = caller.messages(f"/jobs/{caller.made()['id']}/stream")
    assert {name for name, _ in told} == {"transition", "progress", "log", "end"}


@JOBS.way("job logs")
def job_logs(caller: Caller) -> None:
    job_id = caller.done()["id"]
    [line] = caller.ask("GET", f"/jobs/{job_id}/logs").text.splitlines()
    assert (json.loads(line)["event"], json.loads(line)["fields"]) == ("heard", {"text": "a b"})


@JOBS.way("job explain")
def job_explain(caller: Caller) -> None:
    caller.post(f"/queues/{HELD}/pause")
    said = caller.get(f"/jobs/{caller.made(queue=HELD)['id']}/explain")
    caller.post(f"/queues/{HELD}/resume")
    assert "paused" in said["sentence"]
    assert said["command"]


@JOBS.way("job artifacts")
def job_artifacts(caller: Caller) -> None:
    job_id = caller.done()["id"]
    assert [each["name"] for each in caller.get(f"/jobs/{job_id}/artifacts")["items"]] == ["said.txt"]
    assert caller.ask("GET", f"/jobs/{job_id}/artifacts/said.txt").content == b"a b"


@JOBS.way("job cancel")
def job_cancel(caller: Caller) -> None:
    waiting, running = caller.made(queue=HELD)["id"], caller.made("stay")["id"]
    until(lambda: caller.state(running) == "running")
    assert caller.post(f"/jobs/{waiting}/cancel", {"reason": "no use"})["state"] == "cancelled"
    assert caller.post(f"/jobs/{running}/cancel", {"mode": "soft"})["cancel_requested"]
    until(lambda: caller.state(running) == "cancelled")
    taken = caller.made("stay")["id"]
    until(lambda: caller.state(taken) == "running")
    assert caller.post(f"/jobs/{taken}/cancel", {"mode": "hard"})["state"] == "cancelled"
    many = [caller.made(queue=HELD, correlation_id="many")["id"] for _ in range(2)]
    assert caller.post("/jobs/cancel", {"ids": many})["count"] == 2
    assert {caller.state(job_id) for job_id in many} == {"queued"}
    chosen = caller.post("/jobs/cancel", {"queue": HELD, "lifecycle": "durable", "dry_run": False})["items"]
    assert {item["id"] for item in chosen} >= set(many)
    assert {caller.state(job_id) for job_id in many} == {"cancelled"}


@JOBS.way("job resume")
def job_resume(caller: Caller) -> None:
    job_id = caller.made("flow", queue=HELD)["id"]
    caller.post(f"/jobs/{job_id}/cancel")
    assert caller.post(f"/jobs/{job_id}/resume", {"reason": "after all"})["state"] == "CREATED"


@JOBS.way("job retry")
def job_retry(caller: Caller) -> None:
    later = caller.made("flow", delay="1h")["id"]
    assert caller.post(f"/jobs/{later}/retry")["is_new"] is False
    until(lambda: caller.state(later) == "COMPLETED")
    dead = caller.dead()
    again = caller.post(f"/jobs/{dead}/retry")
    assert (again["is_new"], again["parent_id"]) == (True, dead)


@JOBS.way("job delete")
def job_delete(caller: Caller) -> None:
    job_id = caller.done()["id"]
    caller.ask("DELETE", f"/jobs/{job_id}")
    caller.ask("GET", f"/jobs/{job_id}", 404)


@JOBS.way("job prove")
def job_prove(caller: Caller) -> None:
    job_id = caller.done()["id"]
    certificate = until(lambda: _sealed(caller, job_id), 20)
    assert verify(certificate).job_id == job_id


def _sealed(caller: Caller, job_id: str) -> Any:
    """Its certificate, once a chore of the server has sealed the log."""
    answer = caller._http.get(f"/jobs/{job_id}/certificate")
    return answer.json() if answer.status_code == 200 else None


@JOBS.way("dead list")
def dead_list(caller: Caller) -> None:
    job_id = caller.dead()
    letters = caller.get("/dead", task="boom", stage="exec", resolved="false")["items"]
    assert job_id in [letter["job_id"] for letter in letters]


@JOBS.way("dead groups")
def dead_groups(caller: Caller) -> None:
    job_id = caller.dead()
    [group] = caller.get("/dead/groups")["items"]
    assert group["example"]["job_id"] == job_id


@JOBS.way("dead replay")
def dead_replay(caller: Caller) -> None:
    job_id = caller.dead()
    body = {"ids": [job_id], "edits": {"text": "mended"}}
    assert caller.post("/dead/replay", body)["dry_run"] is True
    [item] = caller.post("/dead/replay", {**body, "dry_run": False})["items"]
    until(lambda: caller.state(item["replayed_as"]) == "succeeded")


@JOBS.way("dead discard")
def dead_discard(caller: Caller) -> None:
    job_id = caller.dead()
    assert caller.post("/dead/discard", {"ids": [job_id], "reason": "known", "dry_run": False})["count"] == 1
    assert job_id in [letter["job_id"] for letter in caller.get("/dead", resolved="true")["items"]]


@JOBS.way("queue list")
def queue_list(caller: Caller) -> None:
    caller.made(queue=HELD)
    assert HELD in [queue["name"] for queue in caller.get("/queues")["items"]]


@JOBS.way("queue pause")
def queue_pause(caller: Caller) -> None:
    assert caller.post("/queues/other/pause", {"reason": "too hot"})["paused"] is True


@JOBS.way("queue resume")
def queue_resume(caller: Caller) -> None:
    caller.post("/queues/other/pause")
    assert caller.post("/queues/other/resume")["was_paused"] is True


@JOBS.way("schedule list")
def schedule_list(caller: Caller) -> None:
    assert [each["name"] for each in caller.get("/schedules")["items"]] == ["nightly"]


@JOBS.way("schedule pause")
def schedule_pause(caller: Caller) -> None:
    assert caller.post("/schedules/nightly/pause")["paused"] is True


@JOBS.way("schedule resume")
def schedule_resume(caller: Caller) -> None:
    assert caller.post("/schedules/nightly/resume")["paused"] is False


@JOBS.way("schedule run")
def schedule_run(caller: Caller) -> None:
    job = caller.post("/schedules/nightly/run", status=201)
    until(lambda: caller.state(job["id"]) == "COMPLETED")
    [submitted, *_] = caller.get(f"/jobs/{job['id']}/events")["items"]
    assert (submitted["actor"], submitted["reason"]) == ("local", "run by hand")
    assert caller.get(f"/jobs/{job['id']}/result")["result"] == 3


@JOBS.way("schedule remove")
def schedule_remove(caller: Caller) -> None:
    caller.ask("DELETE", "/schedules/nightly")
    assert caller.get("/schedules")["items"] == []


@JOBS.way("workers")
def workers(caller: Caller) -> None:
    assert [worker["alive"] for worker in caller.get("/workers")["items"]] == [True]


@JOBS.way("leases")
def leases(caller: Caller) -> None:
    job_id = caller.made("stay")["id"]
    until(lambda: job_id in [lease["job_id"] for lease in caller.get("/leases")["items"]])
    caller.post(f"/jobs/{job_id}/cancel", {"mode": "hard"})


@JOBS.way("lifecycle list")
def lifecycle_list(caller: Caller) -> None:
    assert {"crawl", "durable"} < {each["name"] for each in caller.get("/lifecycles")["items"]}


@JOBS.way("lifecycle show")
def lifecycle_show(caller: Caller) -> None:
    assert caller.get("/lifecycles/durable")["states"]
