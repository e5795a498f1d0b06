"""Cursors: opaque, and bound to the filter that they were given out for."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import Engine
from holdfast.api.problems.kinds import Problem
from holdfast.api.shapes.pages import before_of, cursor_of
from tests.api.calling import Client

BEFORE = "018bcfe5-6800-7000-8000-000000000001"
WHERE = {"state": ["queued"], "task": None}


def told(said: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(said).encode()).decode().rstrip("=")


def test_a_cursor_leads_back_to_where_it_was_made() -> None:
    cursor = cursor_of(BEFORE, WHERE)
    assert cursor is not None
    assert before_of(cursor, WHERE) == BEFORE
    # What is not asked for is the same as what is not said.
    assert before_of(cursor, {"state": ["queued"], "queue": None}) == BEFORE
    assert cursor_of(None, WHERE) is None
    assert before_of(None, WHERE) is None


def test_a_cursor_of_another_filter_is_refused() -> None:
    cursor = cursor_of(BEFORE, WHERE)
    with pytest.raises(Problem, match="another filter") as caught:
        before_of(cursor, {"state": ["running"]})
    assert (caught.value.status, caught.value.code, caught.value.field) == (400, "invalid_parameter", "cursor")


NOT_SAID: tuple[object, ...] = (
    [],
    {},
    "text",
    None,
    {"before": BEFORE},
    {"before": BEFORE, "of": 3},
    {"before": 1, "of": ""},
)


@pytest.mark.parametrize("cursor", ["", "x", "!!!", BEFORE, "é", "A" * 5_000, *map(told, NOT_SAID)])
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(Problem) as caught:
        before_of(cursor, WHERE)
    assert (caught.value.status, caught.value.field) == (400, "cursor")


@given(st.text(max_size=300))
def test_no_text_does_harm(cursor: str) -> None:
    with pytest.raises(Problem):
        before_of(cursor, WHERE)


def test_over_http(client: Client, engine: Engine) -> None:
    for n in range(3):
        engine.submit("add", {"a": n})
    cursor = client.get("/api/jobs", params={"limit": 1, "state": "queued"}).json()["next_cursor"]
    assert client.get("/api/jobs", params={"limit": 2, "state": "queued", "cursor": cursor}).status_code == 200
    for params in ({"cursor": cursor}, {"cursor": cursor, "state": "running"}, {"cursor": "x", "state": "queued"}):
        answer = client.get("/api/jobs", params=params)
        assert (answer.status_code, answer.json()["field"]) == (400, "cursor")
