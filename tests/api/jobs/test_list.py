"""GET /jobs: filters, pages, and everything that can be wrong with either."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast import Engine
from holdfast.runtime.task import Task
from holdfast.testing import drain
from tests.api.calling import Client
from tests.api.tasks import add, boom, crawl, flow


def ids(client: Client, **params: Any) -> list[str]:
    answer = client.get("/api/jobs", params=params)
    assert answer.status_code == 200, answer.text
    return [job["id"] for job in answer.json()["items"]]


def submit(engine: Engine, function: Any, *args: Any, **options: Any) -> str:
    task: Task[Any, Any] = Task(engine._inside, engine._inside.registry.get(function.__name__)).options(**options)
    return task.submit(*args).id


@pytest.fixture
def made(engine: Engine) -> dict[str, str]:
    """Jobs of three lifecycles, some of which have run. Oldest first."""
    done = submit(engine, add, 1)
    dead = submit(engine, boom, "x")
    drain(engine)
    return {
        "done": done,
        "dead": dead,
        "sum": submit(engine, add, 2, queue="sums", key="k-1", correlation_id="order-7"),
        "crawl": submit(engine, crawl, "https://example.org"),
        "flow": submit(engine, flow, 1),
    }


def test_every_filter_and_their_combinations(client: Client, made: dict[str, str]) -> None:
    assert ids(client) == list(reversed(made.values()))
    assert ids(client, state="succeeded") == [made["done"]]
    assert ids(client, state="dead_lettered") == [made["dead"]]
    assert ids(client, state=["succeeded", "dead_lettered"]) == [made["dead"], made["done"]]
    assert ids(client, task="add") == [made["sum"], made["done"]]
    assert ids(client, queue="sums") == [made["sum"]]
    assert ids(client, queue="nobody's") == []
    assert ids(client, lifecycle="crawl") == [made["crawl"]]
    assert ids(client, task="add", state="succeeded") == [made["done"]]
    assert ids(client, task="add", state="succeeded", queue="sums") == []
    assert ids(client, task="add", queue="sums", lifecycle="durable", state="queued") == [made["sum"]]
    assert ids(client, lifecycle="workflow", state="queued") == [made["flow"]]


def test_a_state_by_its_label(client: Client, made: dict[str, str]) -> None:
    # Only workflows call it so; the canonical name means every lifecycle's.
    assert ids(client, state="CREATED") == [made["flow"]]
    assert ids(client, state="queued") == [made["flow"], made["crawl"], made["sum"]]


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("k-1", ["sum"]),
        ("order-7", ["sum"]),
        ("ADD", ["sum", "done"]),
        ("oo", ["dead"]),
        ("crawl", ["crawl"]),
        ("nothing-like-it", []),
        ("%", []),
        ("'; DROP TABLE holdfast_job; --", []),
    ],
)
def test_search(client: Client, made: dict[str, str], q: str, found: list[str]) -> None:
    assert ids(client, q=q) == [made[name] for name in found]


def test_search_by_the_beginning_of_an_id(client: Client, made: dict[str, str]) -> None:
    whole = made["crawl"]
    assert ids(client, q=whole) == [whole]
    assert ids(client, q=whole.upper()) == [whole]
    assert ids(client, q=whole.replace("-", "")) == [whole]
    for length in (9, 14, 19, 20, 35):
        assert whole in ids(client, q=whole[:length])
    assert ids(client, q=whole[:6]) == list(reversed(made.values()))
    assert ids(client, q=whole[:6], task="flow") == [made["flow"]]
    assert ids(client, q="ffff") == []


def test_pages_lead_on_and_hold_each_job_once(client: Client, engine: Engine) -> None:
    handles = [submit(engine, add, n, queue=f"q{n % 3}") for n in range(23)]
    for params in ({}, {"task": "add"}, {"state": "queued"}, {"queue": "q1"}, {"q": "add"}, {"lifecycle": "durable"}):
        wanted = [job for n, job in enumerate(handles) if params.get("queue") in (None, f"q{n % 3}")]
        found: list[str] = []
        cursor: dict[str, str] = {}
        sizes = []
        while True:
            page = client.get("/api/jobs", params={**params, **cursor, "limit": 5}).json()
            found += [job["id"] for job in page["items"]]
            sizes.append(len(page["items"]))
            if page["next_cursor"] is None:
                break
            cursor = {"cursor": page["next_cursor"]}
        assert found == list(reversed(wanted)), params
        assert sizes[:-1] == [5] * (len(sizes) - 1)


def test_jobs_that_arrive_meanwhile_disturb_no_page(client: Client, engine: Engine) -> None:
    old = [submit(engine, add, n) for n in range(4)]
    first = client.get("/api/jobs", params={"limit": 2}).json()
    submit(engine, add, 99)
    second = client.get("/api/jobs", params={"limit": 2, "cursor": first["next_cursor"]}).json()
    assert [job["id"] for job in first["items"] + second["items"]] == list(reversed(old))


def test_an_unknown_parameter_is_named(client: Client, engine: Engine) -> None:
    answer = client.get("/api/jobs", params={"status": "queued"})
    assert (answer.status_code, answer.json()["code"]) == (400, "unknown_parameter")
    assert answer.json()["field"] == "status"
    assert answer.json()["allowed"] == ["cursor", "lifecycle", "limit", "q", "queue", "state", "task"]


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"state": "busy"}, "state"),
        ({"lifecycle": "none"}, "lifecycle"),
        ({"limit": "0"}, "limit"),
        ({"limit": "501"}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"task": "a\x00b"}, "task"),
        ({"queue": "\x00"}, "queue"),
        ({"q": ""}, "q"),
        ({"q": "x" * 2_000}, "q"),
        ({"task": ["a", "b"]}, "task"),
    ],
)
def test_a_wrong_value_is_named(client: Client, params: dict[str, Any], field: str) -> None:
    answer = client.get("/api/jobs", params=params)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_parameter"), answer.text
    assert answer.json()["field"] == field


def test_a_wrong_state_says_what_there_is(client: Client) -> None:
    detail = client.get("/api/jobs", params={"state": "busy"}).json()["detail"]
    assert "CREATED" in detail
    assert "dead_lettered" in detail
