"""Stages in order: what they are given, how they end, and what they make of their job."""

import asyncio
import contextlib
import sqlite3
import threading
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from holdfast import (
    Context,
    Engine,
    HoldfastError,
    JobFailedError,
    Partial,
    PermanentError,
    Skip,
    StageContext,
)
from holdfast.systems.pipeline.declare.pipeline import Pipeline, PipelineHandle, pipeline_named
from holdfast.testing import drain


def statuses(job: PipelineHandle) -> dict[str, str]:
    return {stage["name"]: stage["status"] for stage in job.stages()}


def execute(database: str, statement: str) -> None:
    """Change the database behind the engine's back."""
    if database.startswith("sqlite"):
        with contextlib.closing(sqlite3.connect(database.removeprefix("sqlite:///"), timeout=10)) as connection:
            connection.execute(statement)
        return
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(statement)


def done(app: Engine, pipe: Pipeline[Any], **config: Any) -> PipelineHandle:
    job = pipe.submit(**config)
    drain(app)
    return job


@dataclass
class Item:
    name: str
    size: int


@dataclass
class Config:
    sizes: list[int]
    loud: bool = False


def test_a_stage_gets_earlier_results_and_the_config_as_the_types_that_it_names(app: Engine) -> None:
    pipe = app.pipeline("parcels", Config)
    seen: list[Any] = []

    @pipe.stage
    def collect(config: Config) -> list[Item]:
        return [Item(f"p{size}", size) for size in config.sizes]

    @pipe.stage
    async def weigh(ctx: Context, collect: list[Item]) -> int:
        seen.append(collect)
        await asyncio.sleep(0)
        ctx.count(parcels=len(collect))
        return sum(item.size for item in collect)

    @pipe.stage(enabled="loud")
    def shout(weigh: int) -> str:
        return f"{weigh}!"

    @pipe.stage(enabled=lambda config: config.loud)
    def whisper(shout: str = "nothing") -> str:
        return shout.lower()

    @pipe.stage
    def label(ctx: StageContext, weigh: int, shout: str = "silence", copies: int = 2) -> list[str]:
        assert ctx.results["weigh"] == weigh
        return [f"{weigh} {shout}"] * copies

    job = pipe.submit(Config([1, 2]))
    drain(app)
    assert job.result(1) == {"collect": [{"name": "p1", "size": 1}, {"name": "p2", "size": 2}]} | {
        "weigh": 3,
        "label": ["3 silence", "3 silence"],
    }
    assert seen == [[Item("p1", 1), Item("p2", 2)]]
    assert job.state() == "COMPLETED", "stages that are not enabled do not count"
    assert statuses(job) == {
        "collect": "completed",
        "weigh": "completed",
        "shout": "skipped",
        "whisper": "skipped",
        "label": "completed",
    }
    shown = {stage["name"]: stage for stage in job.stages()}
    assert shown["weigh"]["metrics"] == {"parcels": 2}
    assert shown["shout"]["reason"] == "not enabled"
    assert set(shown["weigh"]) >= {"name", "status", "duration_ms", "metrics", "errors"}
    assert job.output("weigh") == 3
    loud = done(app, pipe, sizes=[4], loud=True)
    assert loud.result(1)["label"] == ["4 4!", "4 4!"]
    assert loud.result(1)["whisper"] == "4!"


@pytest.mark.rule("P06")
def test_the_four_ends_of_a_stage(app: Engine) -> None:
    pipe = app.pipeline("ends")

    @pipe.stage
    def whole() -> int:
        return 1

    @pipe.stage
    def some(ctx: StageContext) -> list[int]:
        ctx.error("three", ValueError("no number"))
        return [1, 2]

    @pipe.stage
    def half() -> Partial[int]:
        return Partial(2, "the rest is late")

    @pipe.stage
    def broken() -> int:
        raise PermanentError("no such thing", code="gone")

    @pipe.stage(enabled=False)
    def off() -> int:
        return 3

    @pipe.stage
    def nothing() -> int:
        raise Skip("no news")

    @pipe.stage
    def behind(broken: int) -> int:
        return broken

    job = done(app, pipe)
    ended = {stage["name"]: (stage["status"], stage["reason"]) for stage in job.stages()}
    assert ended == {
        "whole": ("completed", None),
        "some": ("partial", None),
        "half": ("partial", "the rest is late"),
        "broken": ("failed", "gone"),
        "off": ("skipped", "not enabled"),
        "nothing": ("skipped", "no news"),
        "behind": ("skipped", "broken has no result"),
    }
    shown = {stage["name"]: stage for stage in job.stages()}
    assert shown["some"]["errors"] == [{"item": "three", "code": "ValueError", "message": "no number"}]
    assert shown["some"]["metrics"] == {"items_failed": 1}
    [error] = shown["broken"]["errors"]
    assert (error["code"], error["class"], error["message"]) == ("gone", "permanent", "no such thing")
    assert job.state() == "PARTIAL"
    assert job.events()[-1].reason == "some partial, half partial, broken failed, behind skipped"


@pytest.mark.rule("P07")
@pytest.mark.parametrize(
    ("raising", "state", "ran"),
    [
        ([], "COMPLETED", 3),
        (["second"], "PARTIAL", 3),
        (["third"], "PARTIAL", 3),
        (["second", "third"], "PARTIAL", 3),
        (["first"], "FAILED", 1),
        (["first", "second", "third"], "FAILED", 1),
        (["orchestrator"], "FAILED", 1),
    ],
)
def test_what_becomes_of_the_job(app: Engine, database: str, raising: list[str], state: str, ran: int) -> None:
    """All completed, mixed, the first failed, or the orchestrator itself broken, since it cannot keep a stage."""
    pipe = app.pipeline("becomes")
    calls: list[str] = []

    def act(name: str) -> str:
        calls.append(name)
        if "orchestrator" in raising:
            execute(database, "ALTER TABLE holdfast_step RENAME TO away")
        if name in raising:
            raise RuntimeError(f"{name} is broken")
        return name

    @pipe.stage
    def first() -> str:
        return act("first")

    @pipe.stage
    def second() -> str:
        return act("second")

    @pipe.stage
    def third() -> str:
        return act("third")

    job = done(app, pipe)
    assert job.state() == state
    assert len(calls) == ran, "a failed first stage ends the run at once"
    if state == "FAILED":
        with pytest.raises(JobFailedError, match="holdfast_step" if "orchestrator" in raising else "first is broken"):
            job.result(1)


def test_every_stage_failed_although_the_first_only_rested(app: Engine) -> None:
    """No success at all: FAILED, not PARTIAL."""
    pipe = app.pipeline("rests")

    @pipe.stage(enabled=lambda config: config["go"])
    def first() -> str:
        raise Skip("nothing here")

    @pipe.stage
    def second() -> str:
        raise RuntimeError("broken")

    assert done(app, pipe, go=True).state() == "FAILED"


@pytest.mark.parametrize("kind", ["async", "sync"])
def test_a_stage_that_takes_too_long_has_failed(app: Engine, kind: str) -> None:
    pipe = app.pipeline("slow")
    gate = threading.Event()

    @pipe.stage
    def first() -> int:
        return 1

    if kind == "async":

        @pipe.stage(name="second", timeout="50ms")
        async def _() -> None:
            await asyncio.Event().wait()
    else:

        @pipe.stage(name="second", timeout="50ms")
        def _(ctx: Context) -> None:
            gate.wait(10)
            ctx.check()

    @pipe.stage
    def third() -> int:
        return 3

    job = done(app, pipe)
    gate.set()
    assert statuses(job) == {"first": "completed", "second": "failed", "third": "completed"}
    [error] = job.stages()[1]["errors"]
    assert (error["code"], error["message"]) == ("stage_timeout", "ran longer than its 0.05 s")
    assert job.state() == "PARTIAL"
    assert pipeline_named(app._inside, "slow").stages[0].timeout_ms == 600_000, "600 s if not said"


def test_a_result_that_cannot_be_kept_fails_its_stage(app: Engine) -> None:
    pipe = app.pipeline("odd")

    @pipe.stage
    def first() -> int:
        return 1

    @pipe.stage
    def odd() -> object:
        return object()

    @pipe.stage
    def wrong(first: list[str]) -> int:
        return len(first)

    job = done(app, pipe)
    assert statuses(job) == {"first": "completed", "odd": "failed", "wrong": "failed"}
    assert "first" in job.stages()[2]["errors"][0]["message"]


def test_a_question_about_the_config_that_raises_fails_its_stage(app: Engine) -> None:
    pipe = app.pipeline("asks")

    @pipe.stage
    def first() -> int:
        return 1

    @pipe.stage(enabled=lambda config: config["missing"])
    def second() -> int:
        return 2

    assert statuses(done(app, pipe)) == {"first": "completed", "second": "failed"}


def test_outputs_that_are_too_large_together_are_kept_one_by_one(app: Engine) -> None:
    pipe = app.pipeline("large")

    @pipe.stage
    def small() -> str:
        return "s"

    @pipe.stage
    def one() -> str:
        return "x" * 700_000

    @pipe.stage
    def two() -> str:
        return "y" * 400_000

    job = done(app, pipe)
    assert job.state() == "COMPLETED"
    assert set(job.result(1)) == {"small", "two"}
    assert len(job.output("one")) == 700_000


def test_mistakes_are_told_where_they_are_made(app: Engine) -> None:
    pipe = app.pipeline("strict", Config)

    @pipe.stage
    def first() -> int:
        return 1

    with pytest.raises(HoldfastError, match="no stages"):
        app.pipeline("empty").submit()
    with pytest.raises(HoldfastError, match="two tasks are named 'strict'"):
        app.pipeline("strict")
    with pytest.raises(HoldfastError, match=r"nothing fills its parameter 'later'.*first"):

        @pipe.stage
        def second(later: int) -> None: ...

    with pytest.raises(HoldfastError, match="two stages of strict are named 'first'"):
        pipe.stage(name="first")(lambda: 1)
    with pytest.raises(HoldfastError, match=r"the config has no 'quiet'.*sizes, loud"):
        pipe.stage(enabled="quiet")
    with pytest.raises(HoldfastError, match="timeout is no duration"):
        pipe.stage(name="x", timeout="soon")(lambda: 1)
    with pytest.raises(HoldfastError, match="failures is 0"):
        pipe.stage(name="x", breaker=0)(lambda: 1)
    with pytest.raises(HoldfastError, match="sizes"):
        pipe.submit(sizes="many")
    with pytest.raises(HoldfastError, match="sizes"):
        pipe.submit()
    with pytest.raises(HoldfastError, match="unknown option 'colour'"):
        pipe.options(colour="red")
    assert app.list_jobs() == []


def test_options_and_the_asynchronous_form(app: Engine) -> None:
    pipe = app.pipeline("keyed")

    @pipe.stage
    def only() -> int:
        return 7

    job = pipe.options(key="k", tags=("a",)).submit()
    assert pipe.options(key="k").submit().id == job.id

    async def elsewhere() -> tuple[bool, str]:
        again = await pipe.options(key="k").asubmit()
        return again.created, again.id

    assert asyncio.run(elsewhere()) == (False, job.id)
    assert statuses(job) == {"only": "pending"}, "known before it begins"
    drain(app)
    assert job.result(1) == {"only": 7}


def test_a_stage_has_steps_and_checkpoints_of_its_own(app: Engine) -> None:
    pipe = app.pipeline("own")

    @pipe.stage
    def one(ctx: StageContext) -> int:
        ctx.checkpoint({"at": 1})
        return ctx.step("len", len, "a")

    @pipe.stage
    async def two(ctx: StageContext) -> int:
        assert ctx.last_checkpoint is None

        async def size() -> int:
            return 2

        return await ctx.astep("len", size)

    assert done(app, pipe).result(1) == {"one": 1, "two": 2}
