"""What a handler is given: progress and counters, steps, checkpoints, and the fence around all that it keeps."""

import json
import time
from pathlib import Path

import pytest

from holdfast import Context, Engine, LeaseConflictError, TransientError
from holdfast.kernel.lifecycle import Command
from holdfast.kernel.move import move
from tests.app import note, noted
from tests.working import signals_of, until, working


def counting(ctx: Context, file: str) -> int:
    """Fails at its fourth item, and goes on from there the next time."""
    start = (ctx.last_checkpoint or {}).get("next", 0)
    for n in range(start, 6):
        ctx.step(f"item {n}", note, file, f"{ctx.attempt}:{n}")
        ctx.checkpoint({"next": n + 1})
        if n == 3 and ctx.attempt == 1:
            raise TransientError("half-way")
    return int(start)


@pytest.mark.parametrize("executor", ["thread", pytest.param("process", marks=pytest.mark.slow)])
def test_the_next_attempt_goes_on_where_the_last_one_was(app: Engine, tmp_path: Path, executor: str) -> None:
    file = tmp_path / "items"
    app.task(executor=executor, backoff="1ms")(counting)
    with working(app):
        assert app.submit("counting", {"file": str(file)}).result(20) == 4
    assert noted(file) == ["1:0", "1:1", "1:2", "1:3", "2:4", "2:5"]


def test_steps_are_not_run_again(app: Engine) -> None:
    ran: list[str] = []

    @app.task(backoff="1ms")
    async def steps(ctx: Context) -> list[int]:
        async def once(name: str) -> int:
            ran.append(name)
            return len(ran)

        found = [await ctx.astep(name, once, name) for name in ("a", "b", "a")]
        if ctx.attempt < 3:
            raise TransientError("again")
        return found

    with working(app):
        assert steps.submit().result(20) == [1, 2, 1]
    assert ran == ["a", "b"]


def test_a_checkpoint_of_an_async_handler(app: Engine) -> None:
    @app.task(backoff="1ms")
    async def twice(ctx: Context) -> object:
        if ctx.attempt == 1:
            assert ctx.last_checkpoint is None
            await ctx.acheckpoint(["here"])
            raise TransientError("again")
        return ctx.last_checkpoint

    with working(app):
        assert twice.submit().result(20) == ["here"]


@pytest.mark.rule("D07")
def test_nothing_is_kept_for_who_has_lost_the_job(app: Engine) -> None:
    met: list[str] = []

    async def take_it_away(job_id: str) -> None:
        store = await app._inside.opened()
        job = await store.reads.get(job_id)
        assert job is not None
        await store.jobs.apply(
            move(app._inside.table("durable"), [job], Command.LOSE, actor="reaper", reason="lease_expired")
        )

    @app.task
    def late(ctx: Context) -> None:
        if ctx.attempt > 1:
            return
        app._inside.portal.call(take_it_away(ctx.job_id))
        for keep in (
            lambda: ctx.checkpoint("x"),
            lambda: ctx.artifact("x", b"x"),
            lambda: ctx.step("x", lambda: 1),
        ):
            try:
                keep()
            except LeaseConflictError as error:
                met.append(error.code)

    with working(app, concurrency=1) as worker:
        job = late.submit()
        until(lambda: job.state().is_terminal())
        until(lambda: worker.writer.refused + worker.lost)
    assert met == ["lease_conflict"] * 3
    assert app.get_job(job.id).attempt == 2


def busy(ctx: Context) -> None:
    ctx.count(urls_total=10)
    for n, _ in enumerate(ctx.track(range(24), "pages"), 1):
        ctx.count(urls_processed=1, tokens_estimated=2.5)
        time.sleep(0.1 if n < 24 else 0)
    ctx.count(documents_emitted=3)


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["thread", "process"])
def test_progress(app: Engine, executor: str) -> None:
    app.task(executor=executor, name="busy")(busy)
    with working(app):
        job = app.submit("busy")
        job.wait(30)
        until(lambda: _said(app, job.id)[-1]["done"] == 24)
    said = _said(app, job.id)
    assert 2 <= len(said) <= 5, "at most once a second, and a last word"
    first, last = said[0], said[-1]
    assert (first["total"], first["label"]) == (24, "pages")
    assert 0 <= first["done"] < 24
    left = next(word["eta_seconds"] for word in said if word["eta_seconds"])
    assert 0.3 < left < 4
    assert last["counters"].pop("duration_seconds") >= 2.3
    assert last["counters"] == {
        "urls_total": 10,
        "urls_processed": 24,
        "tokens_estimated": 60,
        "documents_emitted": 3,
    }


def _said(app: Engine, job_id: str) -> list[dict]:
    return [json.loads(row.payload) for row in signals_of(app, job_id) if row.type == "job_progress"]


def test_counters_of_a_job_that_ended_before_anybody_looked(app: Engine) -> None:
    @app.task
    def quick(ctx: Context) -> None:
        ctx.count(urls_processed=2)

    with working(app):
        job = quick.submit()
        job.wait(20)
    [said] = _said(app, job.id)
    assert said["counters"]["urls_processed"] == 2
