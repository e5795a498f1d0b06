"""`holdfast job`: lists, one job, its events; the same on both stores."""

import json

import pytest

from tests.cli.conftest import Cli
from tests.cli.seeds import CANONICAL, START, job_id

NEWEST_FIRST = [job_id(name) for name in reversed(CANONICAL)]


def ids(cli: Cli, db: str, *words: str) -> list[str]:
    answer = cli("--db", db, "job", "list", "-o", "ids", *words)
    assert answer.code == 0
    return answer.out.split()


def test_a_list_newest_first(cli: Cli, shared_db: str) -> None:
    answer = cli("job", "list", "--db", shared_db, "--json")
    assert answer.code == 0
    assert [job["id"] for job in answer.json["items"]] == NEWEST_FIRST
    assert answer.json["next_cursor"] is None
    assert {job["id"]: job["canonical_state"] for job in answer.json["items"]} == {
        job_id(name): state for name, state in CANONICAL.items()
    }
    assert ids(cli, shared_db) == NEWEST_FIRST
    lines = cli("job", "list", "--db", shared_db, "-o", "jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == answer.json["items"]


def test_filters(cli: Cli, shared_db: str) -> None:
    def chosen(*words: str) -> set[str]:
        found = ids(cli, shared_db, *words)
        assert found == sorted(found, reverse=True)
        return {name for name in CANONICAL if job_id(name) in found}

    assert chosen("--task", "mail.send") == {"queued", "running"}
    assert chosen("--queue", "run") == {"running"}
    assert chosen("--lifecycle", "durable") == {"queued", "running", "done", "retrying"}
    assert chosen("--state", "succeeded") == {"done"}
    assert chosen("--state", "queued", "--task", "report.make") == {"retrying"}
    assert chosen("--task", "nobody.has") == set()


def test_a_state_is_named_by_canonical_name_or_by_label(cli: Cli, shared_db: str) -> None:
    def chosen(*words: str) -> set[str]:
        found = ids(cli, shared_db, *words)
        return {name for name in CANONICAL if job_id(name) in found}

    assert chosen("--state", "queued") == {"queued", "retrying", "pending"}
    # A label means what its own lifecycle says, and nothing of the others.
    assert chosen("--state", "PENDING") == {"pending"}
    assert chosen("--state", "pending") == {"box"}
    assert chosen("--state", "CREATED") == {"waiting"}
    assert chosen("--state", "canceled") == chosen("--state", "cancelled") == {"canceled"}
    assert chosen("--state", "waiting") == {"waiting", "box"}
    assert chosen("--state", "waiting", "--lifecycle", "sandbox") == {"box"}
    assert chosen("--state", "running", "--state", "CREATED") == {"running", "waiting"}


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], ["--state", "queued"], ["--state", "PENDING", "--state", "waiting"]])
def test_pages_go_on_where_the_last_ended(cli: Cli, sqlite_db: str, words: list[str]) -> None:
    everything = ids(cli, sqlite_db, *words)
    for size in (1, 2, 3):
        found: list[str] = []
        cursor: list[str] = []
        while True:
            page = cli("job", "list", "--db", sqlite_db, "--json", "--limit", str(size), *words, *cursor).json
            found += [job["id"] for job in page["items"]]
            if page["next_cursor"] is None:
                break
            assert len(page["items"]) == size
            cursor = ["--cursor", page["next_cursor"]]
        assert found == everything


def test_more_is_said_on_stderr(cli: Cli, sqlite_db: str) -> None:
    for form in ("table", "ids", "jsonl"):
        answer = cli("job", "list", "--db", sqlite_db, "--limit", "2", "-o", form)
        assert answer.err == f"more: --cursor {NEWEST_FIRST[1]}\n"
        assert "cursor" not in answer.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--state", "flying"], "no state 'flying'; there are: ACTIVE, CANCELLED, COMPLETED, CREATED,"),
        (
            ["--state", "CREATED", "--lifecycle", "crawl"],
            "no state 'CREATED'; there are: canceled, cancelled,",
        ),
        (["--lifecycle", "shop"], "no lifecycle 'shop'; there are: crawl, durable,"),
        (["--limit", "0"], "limit is 0; use 1 to 500"),
        (["--limit", "501"], "limit is 501; use 1 to 500"),
        (["--limit", "many"], "many"),
        (["--cursor", "here"], "cursor 'here' was not given out by a list"),
        (["--colour", "red"], "Unknown option: --colour"),
        (["-o", "xml"], "xml"),
        (["--json", "-o", "ids"], "--json and -o ids contradict each other"),
    ],
)
def test_a_wrong_filter_is_a_usage_error(cli: Cli, sqlite_db: str, words: list[str], told: str) -> None:
    answer = cli("job", "list", "--db", sqlite_db, *words)
    assert (answer.code, answer.out) == (2, "")
    assert told in answer.err
    assert answer.err.count("\n") == 1


def test_a_job_as_it_is_shown(cli: Cli, shared_db: str) -> None:
    job = cli("job", "show", job_id("queued"), "--json", "--db", shared_db).json
    assert job["links"]["self"] == f"/api/jobs/{job_id('queued')}"
    assert job["links"]["cancel"] == f"/api/jobs/{job_id('queued')}/cancel"
    del job["links"]
    assert job == {
        "id": job_id("queued"),
        "task": "mail.send",
        "lifecycle": "durable",
        "state": "queued",
        "canonical_state": "queued",
        "queue": "default",
        "priority": 5,
        "attempt": 1,
        "max_attempts": 1,
        "tries": 0,
        "created_at": job["created_at"],
        "started_at": None,
        "finished_at": None,
        "updated_at": job["created_at"],
        "due_at": job["created_at"],
        "expires_at": None,
        "keep_until": None,
        "lease": None,
        "cancel_requested": None,
        "progress": None,
        "error": None,
        "result": None,
        "partial": False,
        "output_metadata": None,
        "payload": {"to": "ann@example.org"},
        "key": "w-1",
        "tags": None,
        "parent_id": None,
        "correlation_id": job_id("queued"),
        "trace_id": None,
        "version": 1,
    }
    assert START <= job["created_at"] < "2023-11-14T22:14"
    assert len(job["created_at"]) == len("2023-11-14T22:13:20.000Z")


def test_a_running_job_shows_its_lease_and_progress(cli: Cli, shared_db: str) -> None:
    job = cli("job", "show", job_id("running"), "--json", "--db", shared_db).json
    assert (job["state"], job["lease"]["owner"], job["correlation_id"]) == ("running", "worker-1", "order-7")
    assert job["lease"]["until"] > job["started_at"]
    progress = job["progress"]
    assert (progress["done"], progress["total"], progress["counters"]) == (30, 120, {"pages": 4})
    assert progress["eta_seconds"] > 0
    table = cli("job", "show", job_id("running"), "--db", shared_db).out
    assert "worker-1, until 2023-11-14" in table
    assert "30 of 120 (25%)" in table


def test_an_ended_job_shows_how_it_ended(cli: Cli, shared_db: str) -> None:
    done = cli("job", "show", job_id("done"), "--json", "--db", shared_db).json
    assert (done["state"], done["result"], done["error"], done["lease"]) == (
        "succeeded",
        {"pages": 12},
        None,
        None,
    )
    assert done["finished_at"] > done["started_at"]
    assert done["progress"] == {"done": 30, "total": 120, "eta_seconds": None, "counters": {"pages": 4}}
    retrying = cli("job", "show", job_id("retrying"), "--json", "--db", shared_db).json
    assert retrying["attempt"] == 2
    assert {key: retrying["error"][key] for key in ("code", "class", "message", "context")} == {
        "code": "network_error",
        "class": "transient",
        "message": "no [route] to host",
        "context": {"host": "a.example"},
    }
    # Brackets are text here, not markup of the terminal.
    assert (
        "network_error (transient): no [route] to host" in cli("job", "show", job_id("retrying"), "--db", shared_db).out
    )


def test_labels_are_the_lifecycles_own(cli: Cli, shared_db: str) -> None:
    for name, label, canonical in [
        ("waiting", "CREATED", "waiting"),
        ("pending", "PENDING", "queued"),
        ("canceled", "canceled", "cancelled"),
        ("box", "pending", "waiting"),
    ]:
        job = cli("job", "show", job_id(name), "--json", "--db", shared_db).json
        assert (job["state"], job["canonical_state"]) == (label, canonical)
    assert "CREATED (waiting)" in cli("job", "list", "--db", shared_db).out


def test_events_in_order(cli: Cli, shared_db: str) -> None:
    events = cli("job", "events", job_id("retrying"), "--json", "--db", shared_db).json
    assert [(e["seq"], e["type"], e["from"], e["to"], e["attempt"], e["actor"]) for e in events] == [
        (1, "job_submitted", None, "queued", 1, "client"),
        (2, "job_claimed", "queued", "assigned", 1, "worker-1"),
        (3, "job_started", "assigned", "running", 1, "worker-1"),
        (4, "job_retry_scheduled", "running", "queued", 2, "worker-1"),
    ]
    assert events[3]["reason"] == "network_error"
    assert events[3]["payload"]["delay_ms"] == 5000
    assert {e["correlation_id"] for e in events} == {job_id("retrying")}
    assert all({"at", "cause", "trace_id", "version"} <= e.keys() for e in events)
    canceled = cli("job", "events", job_id("canceled"), "--json", "--db", shared_db).json[-1]
    assert (canceled["from"], canceled["to"], canceled["to_canonical"]) == ("queued", "canceled", "cancelled")
    assert (canceled["actor"], canceled["reason"]) == ("ann", "not needed")
    named = cli("job", "events", job_id("running"), "--json", "--db", shared_db).json
    assert {e["correlation_id"] for e in named} == {"order-7"}
    table = cli("job", "events", job_id("canceled"), "--db", shared_db).out
    assert "job_cancelled" in table
    assert "canceled (cancelled)" in table


@pytest.mark.parametrize("command", ["show", "events", "prove"])
@pytest.mark.parametrize("missing", ["018bcfe5-6800-7000-8000-00000000ffff", "not-an-id", "'; --"])
def test_a_missing_job_is_not_found(cli: Cli, sqlite_db: str, command: str, missing: str) -> None:
    answer = cli("job", command, missing, "--db", sqlite_db)
    assert (answer.code, answer.out) == (3, "")
    assert answer.err.startswith("holdfast: no job ")
    assert "holdfast job list" in answer.err


def test_an_id_may_be_typed_in_capitals(cli: Cli, sqlite_db: str) -> None:
    assert cli("job", "show", job_id("done").upper(), "-o", "ids", "--db", sqlite_db).out.strip() == job_id("done")


def test_no_jobs_is_no_error(cli: Cli, empty_db: str) -> None:
    assert cli("db", "migrate", "--db", empty_db).code == 0
    answer = cli("job", "list", "--db", empty_db)
    assert (answer.code, answer.out, answer.err) == (0, "", "no jobs\n")
    assert cli("job", "list", "--db", empty_db, "--json").json == {"items": [], "next_cursor": None}
