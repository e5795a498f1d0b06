"""Lists over a million jobs: every page within a tenth of a second, whatever it is filtered by."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from holdfast import Engine
from tests.api.calling import Client, client_of
from tests.api.jobs.million import COMBINATIONS, JOBS, LARGE, OTHER_LISTS, PARENT, RARE, SEARCHES, load
from tests.engines import STORES

pytestmark = pytest.mark.slow

LIMIT_S = 0.1
PAUSE_S = 0.5
TRIES = 10
"""The fastest of so many at most: the machine has other things to do, the statement has not."""


@pytest.fixture(scope="module", params=STORES)
def loaded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Just loaded: nobody has analysed it."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('million')}/jobs.db"
    else:
        import psycopg

        server = request.getfixturevalue("postgres")
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("CREATE DATABASE million")
        url = server.dsn_of("million")
    load(url)
    engine = Engine(url)
    yield client_of(engine, rate=0)
    engine.close()


def fastest(client: Client, path: str, **params: Any) -> tuple[float, Any]:
    times = []
    body: Any = None
    for _ in range(TRIES):
        began_s = time.perf_counter()
        answer = client.get(path, params=params)
        times.append(time.perf_counter() - began_s)
        assert answer.status_code == 200, answer.text
        body = answer.json() if "json" in answer.headers["content-type"] else answer.text
        if times[-1] < LIMIT_S:
            break
        # Whatever else the machine is at, such as cleaning up after a million rows, comes to an end.
        time.sleep(PAUSE_S)
    return min(times), body


def too_slow(client: Client, cases: list[dict[str, Any]]) -> dict[str, float]:
    times = {str(params): fastest(client, "/api/jobs", **params)[0] for params in cases}
    slowest = max(times, key=lambda name: times[name])
    print(f"{len(times)} pages, slowest {times[slowest] * 1000:.0f} ms: {slowest}")
    return {name: round(took_s, 3) for name, took_s in times.items() if took_s > LIMIT_S}


def test_every_filter_and_combination(loaded: Client) -> None:
    assert len(COMBINATIONS) == 5 * 4 * 4 * 4
    assert too_slow(loaded, COMBINATIONS) == {}


def test_large_pages(loaded: Client) -> None:
    assert too_slow(loaded, LARGE) == {}


def test_searches(loaded: Client) -> None:
    assert too_slow(loaded, SEARCHES) == {}


def test_what_is_rare_is_found_by_following_the_cursor(loaded: Client) -> None:
    found: list[str] = []
    params: dict[str, Any] = {"queue": "old", "limit": 500}
    pages = 0
    while True:
        took_s, page = fastest(loaded, "/api/jobs", **params)
        assert took_s < LIMIT_S
        pages += 1
        found += [job["id"] for job in page["items"]]
        if page["next_cursor"] is None:
            break
        params["cursor"] = page["next_cursor"]
    assert len(found) == RARE == len(set(found))
    print(f"{pages} pages")
    assert pages <= JOBS // 4_000 + 1


def test_figures_and_families(loaded: Client) -> None:
    took_s, stats = fastest(loaded, "/api/stats")
    print(f"stats {took_s * 1000:.0f} ms")
    assert {"state": "succeeded", "count": 10_000, "exact": False} in stats["states"]
    assert {"state": "failed", "count": RARE, "exact": True} in stats["states"]
    assert took_s < 3 * LIMIT_S
    for path in (f"/api/jobs/{PARENT}/graph", f"/api/jobs/{PARENT}", "/api/jobs/running"):
        took_s, _ = fastest(loaded, path)
        assert took_s < LIMIT_S, path


def test_every_other_list(loaded: Client) -> None:
    times = {path: fastest(loaded, path)[0] for path in OTHER_LISTS}
    slowest = max(times, key=lambda path: times[path])
    print(f"{len(times)} lists, slowest {times[slowest] * 1000:.0f} ms: {slowest}")
    assert {path: took_s for path, took_s in times.items() if took_s > LIMIT_S} == {}
