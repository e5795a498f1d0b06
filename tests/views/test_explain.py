"""`explain`: one sentence for every situation that a job can be in, and the command that helps."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast import Engine, PermanentError, TransientError
from holdfast.catalog import BUILT_IN
from holdfast.kernel.event import Event
from holdfast.kernel.job import Job
from holdfast.kernel.retry import RetryPolicy
from holdfast.kernel.state import Canonical
from holdfast.store.port import DeadLetter, Pause
from holdfast.testing import MovableClock, drain
from holdfast.views.explain import Explanation, Situation, explain
from holdfast.views.of_systems import Words
from holdfast.views.phrases import span
from holdfast.views.situation import explain_job
from tests.engines import STORES, address, engine_on

ID = "01a1e486-9b94-7462-b48a-b24f9d0ff710"
NEW = "01a1e487-af81-77d3-bb93-df052b6f4e48"
NOW = 1_700_000_000_000
ERROR = json.dumps({"error": {"code": "network_error", "class": "transient", "message": "no\nroute", "context": {}}})


def job(state: str, lifecycle: str = "durable", **columns: Any) -> Job:
    fields: dict[str, Any] = dict.fromkeys(Job._fields)
    fields |= {
        "id": ID,
        "lifecycle": lifecycle,
        "task": "words",
        "queue": "texts",
        "priority": 0,
        "state": state,
        "attempt": 1,
        "version": 1,
        "tries": 0,
        "max_tries": 6,
        "losses": 0,
        "ready": False,
        "due_at_ms": NOW - 3_000,
        "lease_ms": 60_000,
        "created_at_ms": NOW - 9_000,
        "changed_at_ms": NOW - 9_000,
    }
    return Job(**(fields | columns))


def event(kind: str, reason: str | None = None, *, actor: str = "vm:77:ab", payload: str | None = None) -> Event:
    return Event(9, ID, 4, kind, "running", "queued", NOW - 5_000, actor, 2, reason, None, payload, None, None, 1)


def letter(resolution: str | None = None) -> DeadLetter:
    return DeadLetter(
        ID, NOW, "exhausted_retries", "exec", ERROR, 3, "vm:77:ab", None, ID, "f0", resolution, "words", "texts"
    )


HELD: dict[str, Any] = {
    "lease_owner": "vm:77:ab12",
    "lease_until_ms": NOW + 48_000,
    "started_at_ms": NOW - 12_000,
    "tries": 1,
}
FLOW = "workflow"
CASES: dict[str, tuple[dict[str, Any], str, str | None]] = {
    "queued, nobody works": (
        {"job": job("queued")},
        "queued: due, but no worker has claimed queue 'texts' in the last minute",
        "holdfast worker module:app -q texts",
    ),
    "queued, the default queue of a named app": (
        {"job": job("queued", queue="default"), "app": "shop:app"},
        "queued: due, but no worker has claimed queue 'default' in the last minute",
        "holdfast worker shop:app",
    ),
    "queued behind others": (
        {"job": job("queued"), "workers": 2, "ahead": 1_200},
        "queued: due for 3 s, behind 1,200 others of queue 'texts', 2 workers on it",
        "holdfast workers",
    ),
    "queued behind more than are counted": (
        {"job": job("queued"), "workers": 1, "ahead": 10_000},
        "queued: due for 3 s, behind 10,000+ others of queue 'texts', 1 worker on it",
        "holdfast workers",
    ),
    "queued, claimed from a moment ago by a worker that keeps no record": (
        {"job": job("queued"), "claimed_at_ms": NOW - 100},
        "queued: due for 3 s, next of queue 'texts'",
        f"holdfast job watch {ID}",
    ),
    "queued, to start later": (
        {"job": job("queued", due_at_ms=NOW + 300_000)},
        "queued: due in 5 min, as it was submitted",
        f"holdfast job retry {ID}",
    ),
    "queued for its next try": (
        {
            "job": job("queued", due_at_ms=NOW + 4_000, tries=2, attempt=3),
            "last": event("job_retry_scheduled", "network_error", payload=ERROR),
        },
        "queued: due in 4 s after try 2 of 6 failed with network_error: no route",
        f"holdfast job retry {ID}",
    ),
    "queued for its next try, due, nobody works": (
        {"job": job("queued", tries=2, attempt=3), "last": event("job_retry_scheduled", "network_error")},
        "queued: due after try 2 of 6 failed with network_error, but no worker has claimed queue 'texts' in the last "
        "minute",
        "holdfast worker module:app -q texts",
    ),
    "queued, lost with its worker": (
        {"job": job("queued", tries=1), "last": event("job_lease_expired", "lease_expired"), "workers": 1},
        "queued: due for 3 s, after try 1 of 6 was lost with its worker, next of queue 'texts', 1 worker on it",
        f"holdfast job watch {ID}",
    ),
    "queued, its task unknown": (
        {"job": job("queued", due_at_ms=NOW + 900), "last": event("job_handed_back", "unknown_task"), "workers": 1},
        "queued: due in 900 ms after a worker that does not know task 'words' handed it back",
        "holdfast worker module:app -q texts",
    ),
    "queued, handed back": (
        {"job": job("queued"), "last": event("job_handed_back", "worker_stopped"), "workers": 1},
        "queued: due for 3 s, after it was handed back (worker_stopped), next of queue 'texts', 1 worker on it",
        f"holdfast job watch {ID}",
    ),
    "paused": (
        {"job": job("queued"), "pause": Pause("texts", NOW - 180_000, "deploy"), "workers": 3},
        "queued: queue 'texts' is paused since 3 min (deploy)",
        "holdfast queue resume texts",
    ),
    "paused, no reason, not due": (
        {"job": job("queued", due_at_ms=NOW + 1), "pause": Pause("texts", NOW, None)},
        "queued: queue 'texts' is paused since 0 ms",
        "holdfast queue resume texts",
    ),
    "retry_pending": (
        {
            "job": job("retry_pending", "crawl", due_at_ms=NOW + 8_000, tries=3, max_tries=7),
            "last": event("job_retry_scheduled", "rate_limited"),
        },
        "retry_pending: due in 8 s after try 3 of 7 failed with rate_limited",
        f"holdfast job retry {ID}",
    ),
    "a workflow job that is delayed and expires": (
        {"job": job("queued", FLOW, due_at_ms=NOW + 60_000, expires_at_ms=NOW + 900_000)},
        "CREATED: due in 60 s, as it was submitted, expires in 15 min",
        f"holdfast job retry {ID}",
    ),
    "resumed": (
        {"job": job("queued", FLOW), "last": event("job_resumed", "after all"), "workers": 1, "ahead": 1},
        "CREATED: due for 3 s, after it was resumed (after all), behind 1 other of queue 'texts', 1 worker on it",
        "holdfast workers",
    ),
    "waiting for parents": (
        {"job": job("waiting", FLOW), "own": Words(waits_for="the jobs that it depends on")},
        "CREATED: waiting for the jobs that it depends on",
        f"holdfast job cancel {ID}",
    ),
    "waiting for an upload": (
        {"job": job("waiting", "sandbox"), "own": Words(waits_for="its upload to be finalized")},
        "pending: waiting for its upload to be finalized",
        f"holdfast job cancel {ID}",
    ),
    "assigned": (
        {"job": job("assigned", **HELD)},
        "assigned: on vm:77, lease for 48 s more",
        f"holdfast job watch {ID}",
    ),
    "running": (
        {"job": job("running", **HELD), "beat_at_ms": NOW - 2_000},
        "running: on vm:77 for 12 s, lease for 48 s more, last heartbeat 2 s ago",
        f"holdfast job watch {ID}",
    ),
    "running, half done": (
        {"job": job("running", **HELD), "done": 30, "total": 60},
        "running: on vm:77 for 12 s, 30 of 60 done (50%), lease for 48 s more",
        f"holdfast job watch {ID}",
    ),
    "running, asked to stop": (
        {"job": job("running", **HELD, cancel_requested="soft")},
        "running: on vm:77 for 12 s, asked to stop (soft) and not stopped yet",
        f"holdfast job cancel {ID} --mode hard",
    ),
    "its lease ran out": (
        {"job": job("running", **HELD | {"lease_until_ms": NOW - 3_000}), "workers": 1},
        "running: its lease, held by vm:77, ran out 3 s ago: the reaper takes it back",
        None,
    ),
    "its lease ran out, nobody works": (
        {"job": job("running", **HELD | {"lease_until_ms": NOW - 3_000})},
        "running: its lease, held by vm:77, ran out 3 s ago: the reaper takes it back, once a worker runs",
        "holdfast worker module:app -q texts",
    ),
    "its lease ran out, to be taken over": (
        {"job": job("running", "pipeline", **HELD | {"lease_until_ms": NOW - 3_000}), "workers": 1},
        "RUNNING: its lease, held by vm:77, ran out 3 s ago: the next free worker takes it over",
        None,
    ),
    "succeeded": (
        {"job": job("succeeded", started_at_ms=NOW - 9_000, finished_at_ms=NOW - 7_000, tries=1)},
        "succeeded: ended after 2 s, on try 1",
        f"holdfast job show {ID}",
    ),
    "partial": (
        {"job": job("partial", "pipeline", started_at_ms=NOW - 9_000, finished_at_ms=NOW - 7_000, tries=1)},
        "PARTIAL: ended with a part of its result after 2 s, on try 1",
        f"holdfast job show {ID}",
    ),
    "skipped": (
        {"job": job("skipped", FLOW), "last": event("job_skipped", "branch_not_taken")},
        "SKIPPED: there was nothing to do: branch_not_taken",
        f"holdfast job show {ID}",
    ),
    "failed": (
        {"job": job("failed", tries=6, outcome=ERROR)},
        "failed: try 6 of 6 ended with network_error: no route",
        f"holdfast job retry {ID}",
    ),
    "failed without a word": (
        {"job": job("failed", tries=1)},
        "failed: try 1 of 6 ended with no reason was recorded",
        f"holdfast job retry {ID}",
    ),
    "timed out": (
        {"job": job("timed_out", "sandbox", tries=1, max_tries=1, outcome=ERROR)},
        "timed_out: try 1 of 1 ended with network_error: no route",
        f"holdfast job retry {ID}",
    ),
    "expired": (
        {"job": job("expired", FLOW), "last": event("job_expired", "expired")},
        "EXPIRED: expired",
        f"holdfast job retry {ID}",
    ),
    "cancelled": (
        {"job": job("cancelled"), "last": event("job_cancelled", "not needed", actor="ann")},
        "cancelled: stopped by ann 5 s ago (not needed)",
        f"holdfast job retry {ID}",
    ),
    "cancelled since it expired": (
        {"job": job("cancelled"), "last": event("job_cancelled", "expired", actor="expirer")},
        "cancelled: its time was over before it ran, 5 s ago",
        f"holdfast job retry {ID}",
    ),
    "cancelled, and may be resumed": (
        {"job": job("cancelled", FLOW), "last": event("job_cancelled", None, actor="ann")},
        "CANCELLED: stopped by ann 5 s ago",
        f"holdfast job resume {ID}",
    ),
    "dead-lettered": (
        {"job": job("dead_lettered", tries=3), "letter": letter()},
        "dead_lettered: exhausted_retries after 3 attempts: network_error: no route",
        f"holdfast dead replay {ID}",
    ),
    "dead-lettered and replayed": (
        {"job": job("dead_lettered", tries=3), "letter": letter(f"replayed:{NEW}")},
        f"dead_lettered: exhausted_retries after 3 attempts: network_error: no route; replayed as {NEW}",
        f"holdfast job explain {NEW}",
    ),
    "dead-lettered and discarded": (
        {"job": job("dead_lettered", tries=3), "letter": letter("discarded: old")},
        "dead_lettered: exhausted_retries after 3 attempts: network_error: no route; discarded: old",
        f"holdfast dead replay {ID}",
    ),
    "dead-lettered, its letter gone": (
        {"job": job("dead_lettered", tries=3, outcome=ERROR)},
        "dead_lettered: try 3 of 6 ended with network_error: no route",
        f"holdfast job retry {ID}",
    ),
    "cleaning": ({"job": job("cleaning", "sandbox")}, "cleaning: its logs and artifacts are being removed", None),
    "cleaned": (
        {"job": job("cleaned", "sandbox")},
        "cleaned: its logs and artifacts are removed, the record stays",
        f"holdfast job show {ID}",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_situation_in_one_sentence(case: str) -> None:
    known, sentence, command = CASES[case]
    table = BUILT_IN[known["job"].lifecycle]
    assert explain(Situation(table=table, now_ms=NOW, **known)) == Explanation(sentence, command)


def test_every_state_of_every_lifecycle_has_its_sentence() -> None:
    seen = set()
    for table in BUILT_IN.values():
        for state in table.states:
            sentence, _ = explain(Situation(job(state.canonical, table.name), table, NOW))
            assert sentence.startswith(f"{state}: ")
            assert "\n" not in sentence
            seen.add(state.canonical)
    assert seen == set(Canonical)


def test_a_long_error_is_cut() -> None:
    outcome = json.dumps({"error": {"code": "c", "message": "x" * 500}})
    sentence, _ = explain(Situation(job("failed", tries=1, outcome=outcome), BUILT_IN["durable"], NOW))
    assert len(sentence) < 220
    assert sentence.endswith("x…")


@pytest.mark.parametrize(
    ("ms", "words"),
    [(-5, "0 ms"), (999, "999 ms"), (1_000, "1 s"), (119_999, "119 s"), (120_000, "2 min"), (7_200_000, "2 h")],
)
def test_spans(ms: int, words: str) -> None:
    assert span(ms) == words


@pytest.fixture(params=STORES)
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    with engine_on(address(request, tmp_path), MovableClock()) as engine:
        yield engine


def test_what_is_gathered_from_a_store(app: Engine) -> None:
    @app.task(retries=1, backoff=RetryPolicy(max_tries=2, base_ms=10_000), on_exhausted="dead_letter")
    def wobble() -> None:
        raise TransientError("no route", code="network_error")

    @app.task
    def never() -> None:
        raise PermanentError("no", code="bad_request")

    def why(job_id: str) -> Explanation:
        return app._inside.portal.call(_why(app, job_id))

    shaky, broken = wobble.submit(), never.submit()
    assert why(shaky.id).command == "holdfast worker module:app"
    app.pause_queue("default", "deploy")
    assert "is paused" in why(shaky.id).sentence
    assert why(shaky.id).command == "holdfast queue resume default"
    assert app.resume_queue("default")
    assert not app.resume_queue("default")
    later = wobble.options(delay="1h").submit()
    assert why(later.id).sentence in (
        "queued: due in 60 min, as it was submitted",
        "queued: due in 59 min, as it was submitted",
    )
    drain(app)
    assert why(broken.id) == Explanation(
        "failed: try 1 of 3 ended with bad_request: no", f"holdfast job retry {broken.id}"
    )
    assert why(shaky.id).sentence == "queued: due in 10 s after try 1 of 2 failed with network_error: no route"
    drain(app, move_clock="1m")
    assert why(shaky.id).sentence.startswith(
        "dead_lettered: exhausted_retries after 2 attempts: network_error: no route"
    )


async def _why(app: Engine, job_id: str) -> Explanation:
    return await explain_job(await app._inside.opened(), job_id)
