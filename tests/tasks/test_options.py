"""What a task or a submit says is checked where it is said: the field is named, and nothing is stored."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import Context, Engine, HoldfastError, Partial
from holdfast.runtime.serving import warn_of_leases
from holdfast.testing import MovableClock, drain
from tests.engines import engine_on

if TYPE_CHECKING:
    from decimal import Decimal


@dataclass
class Page:
    url: str
    words: int = 0


@pytest.fixture
def app(sqlite_url: str) -> Iterator[Engine]:
    with engine_on(sqlite_url, MovableClock()) as engine:
        yield engine


def noop(host: str = "here") -> str:
    return host


@pytest.mark.parametrize(
    "option",
    [
        {"tags": "urgent"},
        {"tags": (1, 2)},
        {"priority": "high"},
        {"priority": 1.5},
        {"delay": [1]},
        {"delay": True},
        {"expires": 0},
        {"timeout": "0s"},
        {"start_after": "2030-01-01"},
        {"keep_until": 3},
        {"key": 3},
        {"queue": 3},
        {"retry_limit": "3"},
        {"correlation_id": 7},
    ],
    ids=str,
)
def test_an_option_of_a_submit_that_cannot_be_meant(app: Engine, option: dict[str, Any]) -> None:
    task = app.task(noop)
    with pytest.raises(HoldfastError) as refused:
        task.options(**option).submit()
    assert refused.value.field == next(iter(option))
    assert refused.value.remedy
    assert app.list_jobs() == []


@pytest.mark.parametrize(
    "option",
    [
        {"name": ""},
        {"name": 3},
        {"queue": 3},
        {"priority": "high"},
        {"priority": 1.5},
        {"retries": "3"},
        {"timeout": 0},
        {"expires": "0s"},
        {"lease": "500ms"},
        {"executor": "gpu"},
    ],
    ids=str,
)
def test_an_option_of_a_task_that_cannot_be_meant(app: Engine, option: dict[str, Any]) -> None:
    with pytest.raises(HoldfastError) as refused:
        app.task(**option)(noop)
    assert refused.value.field == next(iter(option))
    assert refused.value.remedy


def test_a_worker_warns_of_leases_that_are_shorter_or_longer_than_is_wise(
    app: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    app.task(name="usual")(noop)
    for lease in ("29s", "30s", "2m", "121s"):
        app.task(name=f"for-{lease}", lease=lease)(noop)
    warn_of_leases(app._inside)
    said = [record.getMessage() for record in caplog.records]
    assert [re.findall(r"for-\w+", line) for line in said] == [["for-29s"], ["for-121s"]]
    assert "30 to 120 s" in said[0]


def test_tags_are_kept_in_their_order(app: Engine) -> None:
    assert app.task(noop).options(tags=["b", "a"]).submit().job().tags == '["b","a"]'


def test_a_limit_by_an_argument_that_has_a_default(app: Engine) -> None:
    job = app.task(limit=("domain:{host}", 2))(noop).submit()
    assert '"domain:here"' in (job.job().options or "")


def test_a_limit_that_does_not_fit_the_arguments(app: Engine) -> None:
    task = app.task(limit=("domain:{host.name}", 2))(noop)
    with pytest.raises(HoldfastError, match=r"domain:\{host.name\}") as refused:
        task.submit("here")
    assert refused.value.field == "limit"
    assert app.list_jobs() == []


def test_one_name_that_only_the_type_checker_knows_leaves_the_others_checked(app: Engine) -> None:
    @app.task
    def pay(ctx: Context, amount: Decimal, times: int) -> Decimal:
        return amount * times

    with pytest.raises(TypeError, match="times: Expected `int`"):
        pay.submit("1.50", "twice")  # type: ignore[arg-type]
    job = pay.submit("1.50", 2)  # type: ignore[arg-type] # as JSON has it
    drain(app)
    assert job.result(timeout=0) == "1.501.50"


def test_a_partial_result_has_the_type_of_a_whole_one(app: Engine) -> None:
    @app.task
    def read(url: str) -> Page | Partial[Page]:
        return Partial(Page(url, 3), "the rest is missing")

    job = read.submit("u")
    drain(app)
    assert job.result(timeout=0) == Page("u", 3)
