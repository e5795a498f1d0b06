"""The seven transitions of a pipeline's job, each made by a real run, and the times that they set."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from holdfast import Engine
from holdfast.systems.pipeline.declare.pipeline import Pipeline, PipelineHandle, pipeline_named
from holdfast.systems.pipeline.lifecycle import PIPELINE
from holdfast.testing import MovableClock, drain
from tests.working import until, working


@pytest.mark.rule("P01")
def test_the_states() -> None:
    assert [str(state) for state in PIPELINE.states] == [
        "PENDING",
        "RUNNING",
        "COMPLETED",
        "PARTIAL",
        "FAILED",
        "CANCELLED",
    ]
    assert [str(state) for state in PIPELINE.terminal_states()] == ["COMPLETED", "PARTIAL", "FAILED", "CANCELLED"]
    ends = {state.canonical for state in PIPELINE.terminal_states()}
    assert [row for row in PIPELINE.transitions if row.source in ends] == [], "nothing leads out of them"


def declared(app: Engine, end: str) -> Pipeline[dict[str, object]]:
    pipe = app.pipeline("lives", lease="10s")

    @pipe.stage
    def first() -> int:
        if end == "FAILED":
            raise RuntimeError("broken")
        return 1

    @pipe.stage
    def second() -> int:
        if end == "PARTIAL":
            raise RuntimeError("broken")
        return 2

    return pipe


def path(job: PipelineHandle) -> list[tuple[str | None, str]]:
    def label(state: str | None) -> str | None:
        return None if state is None else str(PIPELINE.state(state))

    return [(label(event.from_state), label(event.to_state) or "") for event in job.events()]


SUBMITTED, STARTED = (None, "PENDING"), ("PENDING", "RUNNING")
LIVES = {
    "COMPLETED": [SUBMITTED, STARTED, ("RUNNING", "COMPLETED")],
    "PARTIAL": [SUBMITTED, STARTED, ("RUNNING", "PARTIAL")],
    "FAILED": [SUBMITTED, STARTED, ("RUNNING", "FAILED")],
    "CANCELLED": [SUBMITTED, STARTED, ("RUNNING", "CANCELLED")],
    "CANCELLED before it starts": [SUBMITTED, ("PENDING", "CANCELLED")],
}


def cancelled_while_it_runs(app: Engine) -> PipelineHandle:
    pipe = app.pipeline("lives")
    begun = threading.Event()

    @pipe.stage
    async def first() -> None:
        begun.set()
        await asyncio.Event().wait()

    with working(app):
        job = pipe.submit()
        assert begun.wait(10)
        job.cancel("enough")
        until(lambda: job.state().is_terminal())
    return job


def cancelled_before_it_starts(app: Engine) -> PipelineHandle:
    job = declared(app, "COMPLETED").submit()
    job.cancel("enough")
    drain(app)
    return job


def run_to(end: str) -> Callable[[Engine], PipelineHandle]:
    def run(app: Engine) -> PipelineHandle:
        job = declared(app, end).submit()
        drain(app)
        return job

    return run


RUNS = {
    **{end: run_to(end) for end in ("COMPLETED", "PARTIAL", "FAILED")},
    "CANCELLED": cancelled_while_it_runs,
    "CANCELLED before it starts": cancelled_before_it_starts,
}


@pytest.mark.parametrize("life", LIVES)
def test_each_transition_is_made(app: Engine, life: str) -> None:
    assert path(RUNS[life](app)) == LIVES[life]


@pytest.mark.rule("P02")
def test_the_seven_transitions_and_no_others(app: Engine) -> None:
    """One run of each life: together they make the seven, and the table has no more but for P10 and P12."""
    made: set[tuple[str | None, str]] = set()
    for life, expected in LIVES.items():
        app._inside.registry._tasks.clear()
        walked = path(RUNS[life](app))
        assert walked == expected
        made.update(walked)
    assert len(made) == 7
    label = PIPELINE.state
    table: set[tuple[str | None, str]] = {(None, str(label(state))) for state in PIPELINE.initial}
    table |= {(str(label(row.source)), str(label(row.target))) for row in PIPELINE.transitions}
    ours = {("PENDING", "FAILED"), ("RUNNING", "RUNNING")}
    assert table - made == ours, "the sweep of a job that never started, and the take-over of a lost one"


@pytest.mark.rule("P03")
@pytest.mark.parametrize("life", LIVES)
def test_started_at_and_finished_at(app: Engine, clock: MovableClock, life: str) -> None:
    job = RUNS[life](app).job()
    events = app._inside.portal.call(_events(app, job.id))
    started = [event.at_ms for event in events if event.to_state == "running"]
    assert job.started_at_ms == (started[-1] if started else None)
    assert job.finished_at_ms == events[-1].at_ms
    pending = pipeline_named(app._inside, "lives").submit().job()
    assert (pending.started_at_ms, pending.finished_at_ms) == (None, None)


async def _events(app: Engine, job_id: str) -> list:
    return list(await (await app._inside.opened()).reads.events(job_id))
