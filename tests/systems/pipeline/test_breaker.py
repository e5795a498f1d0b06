"""A stage that keeps failing is left alone for a while, by every process alike."""

from typing import Any

from holdfast import Breaker, Engine
from holdfast.systems.pipeline.declare.pipeline import Pipeline, PipelineHandle
from holdfast.testing import MovableClock, drain


def declared(app: Engine, calls: list[str], broken: dict[str, bool]) -> Pipeline[dict[str, Any]]:
    pipe = app.pipeline("feed")

    @pipe.stage
    def first() -> int:
        return 1

    @pipe.stage(breaker=Breaker(failures=2, cooldown="10m"))
    def remote() -> int:
        calls.append("remote")
        if broken["remote"]:
            raise ConnectionError("no answer")
        return 2

    return pipe


def run(app: Engine, pipe: Pipeline[dict[str, Any]], clock: MovableClock) -> PipelineHandle:
    clock.advance("1s")
    job = pipe.submit()
    drain(app)
    return job


def test_open_skips_one_trial_decides(app: Engine, clock: MovableClock, database: str) -> None:
    calls: list[str] = []
    broken = {"remote": True}
    pipe = declared(app, calls, broken)
    other = Engine(database, clock=clock)
    try:
        elsewhere = declared(other, calls, broken)
        for engine, declaration in ((app, pipe), (other, elsewhere)):
            assert run(engine, declaration, clock).stages()[1]["status"] == "failed"
        assert len(calls) == 2
        skipped = run(app, pipe, clock)
        assert len(calls) == 2, "two failures, one in each process, opened it for both"
        assert skipped.stages()[1]["status"] == "skipped"
        assert skipped.stages()[1]["reason"] == "breaker open: it failed 2 times in a row"
        assert skipped.state() == "PARTIAL", "skipped, not failed, and not as wanted either"
        clock.advance("11m")
        assert run(other, elsewhere, clock).stages()[1]["status"] == "failed"
        assert len(calls) == 3, "one trial"
        assert run(app, pipe, clock).stages()[1]["status"] == "skipped", "it failed: another rest"
        clock.advance("11m")
        broken["remote"] = False
        assert run(app, pipe, clock).state() == "COMPLETED"
        assert run(other, elsewhere, clock).state() == "COMPLETED", "closed for all"
        assert len(calls) == 5
    finally:
        other.close()


def test_of_two_runs_one_makes_the_trial(app: Engine, clock: MovableClock) -> None:
    from holdfast.store.pipeline.stages import StageSteps

    async def ask(*jobs: str) -> list[bool]:
        stages = (await app._inside.opened()).part(StageSteps)
        return [await stages.tries("trial:feed:remote:1:1", job) for job in jobs]

    assert app._inside.portal.call(ask("a", "b", "a", "b")) == [True, False, True, False]
