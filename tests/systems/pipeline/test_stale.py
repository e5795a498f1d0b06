"""A run that stands still for too long fails: the sweep counts from when it entered its state."""

import asyncio
from typing import Any

import pytest

from holdfast import Engine, HoldfastError
from holdfast.audit.auditor import audit
from holdfast.chores.expirer import Expirer
from holdfast.systems.pipeline.declare.pipeline import Pipeline, PipelineHandle
from holdfast.testing import MovableClock

MESSAGE = "Job timed out or was orphaned"


def declared(app: Engine, **options: Any) -> Pipeline[dict[str, Any]]:
    pipe = app.pipeline("still", **options)

    @pipe.stage
    def only() -> int:
        return 1

    return pipe


def sweep(app: Engine) -> int:
    async def once() -> int:
        return await Expirer(await app._inside.opened()).run_once()

    return app._inside.portal.call(once())


def claim(app: Engine, job: PipelineHandle) -> None:
    """Taken by a worker that is never heard of again."""

    async def take() -> None:
        [taken] = await (await app._inside.opened()).jobs.claim(["default"], 1, "gone")
        assert taken.id == job.id

    app._inside.portal.call(take())


@pytest.mark.rule("P10")
@pytest.mark.parametrize(("stale_after", "limit_s"), [(None, 7_200), ("30m", 1_800), ("5h", 18_000)])
def test_pending_or_running_for_too_long(
    app: Engine, clock: MovableClock, database: str, stale_after: str | None, limit_s: int
) -> None:
    pipe = declared(app, stale_after=stale_after)
    pending, running = pipe.submit(), pipe.options(priority=9).submit()
    clock.advance(limit_s - 1)
    claim(app, running)
    assert (sweep(app), pending.state()) == (0, "PENDING")
    clock.advance(1)
    assert (sweep(app), pending.state(), running.state()) == (1, "FAILED", "RUNNING"), "its time began with RUNNING"
    clock.advance(limit_s - 2)
    assert (sweep(app), running.state()) == (0, "RUNNING")
    clock.advance(1)
    assert (sweep(app), running.state()) == (1, "FAILED")
    for job in (pending, running):
        view = job.show()
        assert view["error"]["message"] == MESSAGE
        assert job.events()[-1].reason == MESSAGE
        assert view["finished_at"] is not None
    assert asyncio.run(audit(database, processes=False)).violations == [], "each has its own limit, and all add up"


def test_a_run_that_would_be_stale_before_it_is_due_is_refused(app: Engine) -> None:
    with pytest.raises(HoldfastError, match="stale before it is due") as refused:
        declared(app, stale_after="30m").options(delay="30m").submit()
    assert refused.value.field == "delay"


def test_a_run_that_is_repeated_has_the_same_limit(app: Engine, clock: MovableClock) -> None:
    job = declared(app, stale_after="30m").submit()
    clock.advance("30m")
    sweep(app)
    again = app.retry_job(job.id).job()
    assert again.expires_at_ms == again.created_at_ms + 1_800_000
