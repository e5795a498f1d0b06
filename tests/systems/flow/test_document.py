"""DAGs that are sent as data: wired to the tasks that they name, or refused with the path to what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from holdfast import Engine, HoldfastError
from holdfast.systems.flow.declare.document import read


@pytest.fixture
def app(sqlite_url: str) -> Iterator[Engine]:
    engine = Engine(sqlite_url)
    yield engine
    engine.close()


def tasks(app: Engine) -> None:
    @app.task
    def fetch(url: str) -> str: ...  # type: ignore[empty-body] # only declared

    @app.task
    def words(html: str, lang: str = "en") -> int: ...  # type: ignore[empty-body] # only declared


DAG: dict[str, Any] = {
    "name": "sent",
    "nodes": [
        {"name": "page", "task": "fetch", "start_after": "2030-01-01T00:00:00Z"},
        {"name": "front", "task": "fetch", "args": {"url": "/"}},
        {"name": "count", "task": "words", "after": ["page"]},
        {"name": "either", "task": "words", "after": ["page", "front"], "join": "any", "inputs": {"html": "front"}},
    ],
}


def test_a_dag_that_is_sent_is_wired_to_the_tasks_that_it_names(app: Engine) -> None:
    tasks(app)
    graph, signature = read(DAG, app._inside.registry)
    assert graph.by_name["page"].options.start_after_ms == 1_893_456_000_000
    assert graph.by_name["page"].inputs == {"url": ("$input", "url")}
    assert graph.by_name["front"].inputs == {}
    assert graph.by_name["count"].inputs == {"html": ("page",), "lang": ("$input", "lang")}
    assert graph.by_name["either"].inputs == {"html": ("front",), "lang": ("$input", "lang")}
    assert signature is not None
    assert signature.describe() == "sent(url: str, lang: str = 'en')"
    constant = {"name": "fixed", "task": "words", "after": ["page"], "args": {"html": "x"}}
    fixed = read(DAG | {"nodes": [*DAG["nodes"], constant]}, app._inside.registry).graph.by_name["fixed"]
    assert fixed.inputs == {"lang": ("$input", "lang")}  # and not the page
    elsewhere = {"name": "far", "task": "somewhere", "after": ["count"]}
    mixed, unknown = read(DAG | {"nodes": [*DAG["nodes"], elsewhere]}, app._inside.registry)
    assert unknown is None
    assert mixed.by_name["far"].inputs == {}


@pytest.mark.parametrize(
    ("node", "says"),
    [
        ({"task": "words", "args": {"text": 1}}, r"nodes\[4\]: text is no parameter .* it takes html, lang"),
        ({"task": "fetch", "after": ["page", "front"]}, r"nodes\[4\]: url would take the first of 2 parents"),
        ({"task": "fetch", "start_after": "2030-01-01"}, r"nodes\[4\].start_after is '2030-01-01'; write a time"),
        ({"task": "fetch", "keep_until": 17}, r"nodes\[4\].keep_until is 17; write a time since 1970 with its zone"),
        ({"task": "fetch", "keep_until": "9999-99-99T00:00Z"}, r"nodes\[4\].keep_until"),
        ({"task": "fetch", "keep_until": "1969-12-31T00:00Z"}, r"nodes\[4\].keep_until is '1969"),
    ],
)
def test_a_dag_that_does_not_fit_is_refused(app: Engine, node: dict[str, Any], says: str) -> None:
    tasks(app)
    with pytest.raises(HoldfastError, match=says):
        read(DAG | {"nodes": [*DAG["nodes"], {"name": "last"} | node]}, app._inside.registry)
