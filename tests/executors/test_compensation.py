"""Compensation: a job that fails for good has its finished steps undone, last one first."""

import json
from typing import Any

import pytest

from holdfast import Context, Engine, HoldfastError, PermanentError, TransientError
from tests.working import events_of, signals_of, working

pytestmark = pytest.mark.rule("D28")


class Shop:
    """What the steps do, and what undoing them does."""

    def __init__(self) -> None:
        self.log: list[str] = []

    def do(self, what: str) -> dict[str, str]:
        self.log.append(f"do {what}")
        return {"receipt": what}

    def undo(self, result: dict[str, str]) -> None:
        self.log.append(f"undo {result['receipt']}")

    def order(self, ctx: Context, error: type[Exception]) -> None:
        ctx.step("reserve", self.do, "reserve")
        ctx.step("look", self.do, "look")
        ctx.step("charge:1", self.do, "charge")
        raise error("no parcel")


@pytest.mark.parametrize(("error", "tries"), [(PermanentError, 1), (TransientError, 3)])
def test_the_finished_steps_are_undone_in_reverse(app: Engine, error: type[Exception], tries: int) -> None:
    shop = Shop()

    async def refund(result: Any) -> None:
        shop.undo(result)

    @app.task(retries=2, backoff="1ms", compensate={"reserve": shop.undo, "charge": refund})
    def order(ctx: Context) -> None:
        shop.order(ctx, error)

    with working(app):
        job = app.submit("order")
        assert job.wait(20) == "failed"
    assert shop.log == ["do reserve", "do look", "do charge", "undo charge", "undo reserve"]
    events = events_of(app, job.id)
    assert events[-1].type == "job_compensated"
    assert [event.type for event in events].count("job_started") == tries
    assert json.loads(events[-1].payload)["error"]["message"] == "no parcel"
    undone = [json.loads(s.payload)["step"] for s in signals_of(app, job.id) if s.type == "job_step_compensated"]
    assert undone == ["charge:1", "reserve"]


def test_a_compensation_that_fails_dead_letters(app: Engine) -> None:
    shop = Shop()

    def broken(result: Any) -> None:
        raise RuntimeError("the bank is closed")

    @app.task(compensate={"reserve": shop.undo, "charge": broken})
    def order(ctx: Context) -> None:
        shop.order(ctx, PermanentError)

    with working(app):
        job = app.submit("order")
        assert job.wait(20) == "dead_lettered"
    assert "undo reserve" not in shop.log
    [dead] = app.dead_letters()
    assert (dead.job_id, dead.reason_code, dead.stage) == (job.id, "compensation_failed", "commit")
    assert "charge:1" in str(dead.last_error)
    assert "the bank is closed" in str(dead.last_error)


def test_what_succeeds_or_is_tried_again_is_not_undone(app: Engine) -> None:
    shop = Shop()
    failures = ["once"]

    @app.task(retries=2, backoff="1ms", compensate={"reserve": shop.undo})
    def order(ctx: Context) -> str:
        ctx.step("reserve", shop.do, "reserve")
        if failures:
            raise TransientError(failures.pop())
        return "sent"

    with working(app):
        assert app.submit("order").result(20) == "sent"
    assert shop.log == ["do reserve"]


@pytest.mark.parametrize(("options", "says"), [({"compensate": "undo"}, "undo"), ({"lifecycle": "crawl"}, "durable")])
def test_a_task_that_cannot_be_compensated_is_refused(app: Engine, options: dict[str, Any], says: str) -> None:
    with pytest.raises(HoldfastError, match=says) as caught:
        app.task(**({"compensate": {"a": print}} | options))(print)
    assert caught.value.field == "compensate"
