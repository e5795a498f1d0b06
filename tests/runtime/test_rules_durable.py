"""What the distributed document asks of the engine: every arrow, and ids that reach whatever a job starts."""

import json
import logging
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast import Context, Engine, PermanentError, TransientError
from holdfast.kernel.durable import DURABLE
from holdfast.kernel.job import Failure
from holdfast.kernel.lifecycle import Command
from holdfast.kernel.move import Change, move
from holdfast.kernel.settle import dead_letter
from holdfast.runtime.handle import JobHandle
from holdfast.store.port import Store
from holdfast.testing import MovableClock, drain
from tests.engines import engine_on, on_store
from tests.working import events_of, until, working

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def arrows(app: Engine, job_id: str) -> list[tuple[str | None, str]]:
    return [(event.from_state, event.to_state) for event in events_of(app, job_id)]


@pytest.mark.slow
@pytest.mark.rule("D02")
def test_every_arrow_of_the_document_is_taken_and_no_other(app: Engine) -> None:
    @app.task(retries=0)
    def work(ctx: Context, end: str) -> str:
        match end:
            case "fail":
                raise PermanentError("no")
            case "cancel":
                while True:
                    ctx.check()
                    time.sleep(0.02)
        return end

    @app.task(retries=0, on_exhausted="dead_letter")
    def poison() -> None:
        raise TransientError("never")

    idle = app.task(name="idle", queue="idle")(lambda: None)
    queued = [(None, "queued")]
    assigned = [*queued, ("queued", "assigned")]
    running = [*assigned, ("assigned", "running")]

    with working(app):
        done, failed, cancelled, dead = work.submit("ok"), work.submit("fail"), work.submit("cancel"), poison.submit()
        assert done.wait(20) == "succeeded"
        assert failed.wait(20) == "failed"
        assert dead.wait(20) == "dead_lettered"
        until(lambda: cancelled.state() == "running")
        cancelled.cancel("enough")
        assert cancelled.wait(20) == "cancelled"
        hard = work.submit("cancel")
        until(lambda: hard.state() == "running")
        assert hard.cancel("now", mode="hard") == "cancelled"
    for job, end in (
        (done, "succeeded"),
        (failed, "failed"),
        (cancelled, "cancelled"),
        (hard, "cancelled"),
        (dead, "dead_lettered"),
    ):
        assert arrows(app, job.id) == [*running, ("running", end)]
        assert app.get_job(job.id).finished_at_ms is not None

    # What has not begun to run: from the queue, and from the hands of a worker that claimed it.
    async def claim(store: Store) -> None:
        [job] = await store.jobs.claim(["idle"], 1, "worker-1", start=False)
        assert (job.state, job.lease_owner, job.started_at_ms) == ("assigned", "worker-1", None)
        assert job.lease_until_ms is not None

    async def bury(store: Store, job_id: str) -> None:
        [job] = await store.reads.get_many([job_id])
        path, letter = dead_letter(DURABLE, job, Failure("corrupt", "permanent", "no JSON", {}), "parse_error")
        assert (await store.jobs.apply([Change(DURABLE, path, "operator", [letter])])).versions

    waiting = idle.submit()
    assert waiting.cancel("never mind") == "cancelled"
    assert arrows(app, waiting.id) == [*queued, ("queued", "cancelled")]
    corrupt = idle.submit()
    on_store(app, bury, corrupt.id)
    assert arrows(app, corrupt.id) == [*queued, ("queued", "dead_lettered")]
    for end in ("cancelled", "dead_lettered"):
        held = idle.submit()
        on_store(app, claim)
        if end == "cancelled":
            assert held.cancel("now", mode="hard") == end
        else:
            on_store(app, bury, held.id)
        assert arrows(app, held.id) == [*assigned, ("assigned", end)]

    # A claim is not a start: the start is a step of its own, by the one that has the lease.
    started = idle.submit()
    on_store(app, claim)

    async def start(store: Store, owner: str) -> bool:
        [job] = await store.reads.get_many([started.id])
        return bool((await store.jobs.apply(move(DURABLE, [job], Command.START, actor=owner, owner=owner))).versions)

    assert not on_store(app, start, "worker-2")
    assert on_store(app, start, "worker-1")
    assert arrows(app, started.id) == running


@pytest.mark.rule("D24")
def test_ids_reach_what_a_handler_submits_through_generations(app: Engine) -> None:
    seen: dict[str, tuple[str, str | None]] = {}

    @app.task
    async def grandparent(ctx: Context) -> str:
        seen["grandparent"] = (ctx.correlation_id, ctx.trace_id)
        return (await parent.asubmit()).id

    @app.task
    def parent() -> list[str]:
        """Asks for no context: what it submits is its child nevertheless."""
        return [job.id for job in child.submit_many([(), ()])] + [
            child.options(correlation_id="another", parent_id=stranger.id).submit().id
        ]

    @app.task
    def child(ctx: Context) -> None:
        seen[ctx.job_id] = (ctx.correlation_id, ctx.trace_id)

    stranger = child.submit()
    root = grandparent.options(correlation_id="order-1", trace_id=TRACE).submit()
    alone = parent.submit()
    drain(app, concurrency=2)
    between = JobHandle[Any](app._inside, root.result(timeout=0))
    first, second, other = (JobHandle[Any](app._inside, job_id) for job_id in between.result(timeout=0))
    for job, parent_id in ((root, None), (between, root.id), (first, between.id), (second, between.id)):
        assert job.job().parent_id == parent_id
        assert {(event.correlation_id, event.trace_id) for event in job.events()} == {("order-1", TRACE)}
    assert seen["grandparent"] == seen[first.id] == seen[second.id] == ("order-1", TRACE)
    # What is said outright is left as it is.
    assert (other.job().correlation_id, other.job().parent_id) == ("another", stranger.id)
    # A job that belongs to nothing begins its own correlation.
    for job_id in alone.result(timeout=0)[:2]:
        assert (app.get_job(job_id).correlation_id, app.get_job(job_id).parent_id) == (alone.id, alone.id)
    assert app.get_job(stranger.id).parent_id is None
    assert child.submit().job().parent_id is None, "nothing is left behind where no handler runs"


MODULE = """
import os
from holdfast import Engine
app = Engine(os.environ["LINEAGE_DB"])

@app.task(executor="process")
def parent() -> str:
    job = child.submit()
    app.close()
    return job.id

@app.task
def child() -> None: ...
"""


@pytest.mark.slow
@pytest.mark.rule("D24")
def test_ids_reach_what_a_process_submits(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lineage_tasks.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("LINEAGE_DB", database)
    import lineage_tasks  # type: ignore[import-not-found]

    app: Engine = lineage_tasks.app
    try:
        with working(app):
            job = lineage_tasks.parent.options(correlation_id="order-1", trace_id=TRACE).submit()
            found = app.get_job(job.result(20))
        assert (found.correlation_id, found.trace_id, found.parent_id) == ("order-1", TRACE, job.id)
    finally:
        app.close()
        del sys.modules["lineage_tasks"]


@pytest.mark.rule("C19")
def test_one_line_for_each_transition_whoever_makes_it(database: str, caplog: pytest.LogCaptureFixture) -> None:
    """By workers, chores and people, for lifecycles of every kind."""
    clock = MovableClock()
    with engine_on(database, clock) as app, caplog.at_level(logging.INFO, "holdfast.transition"):

        @app.task(lifecycle="crawl", retries=2)
        def fails() -> None:
            raise TransientError("no", code="network_error")

        @app.task(lifecycle="workflow", expires="1m")
        def never() -> None: ...

        @app.task(lifecycle="pipeline")
        def stages() -> None: ...

        jobs = [fails.submit(), never.options(delay="1h").submit(), stages.submit()]

        async def lose(store: Store) -> None:
            assert len(await store.jobs.claim(["default"], 2, "worker-1")) == 2
            clock.advance("2m")  # both are silent: one goes on as the next attempt, one is taken over

        on_store(app, lose)
        drain(app, move_clock=True)
        jobs.append(never.submit())
        jobs[-1].cancel("by hand")
        app.resume_job(jobs[-1].id)
        drain(app)
        lines = [json.loads(record.getMessage()) for record in caplog.records if record.name == "holdfast.transition"]
        types = set()
        for job in jobs:
            events = events_of(app, job.id)
            ours = [line for line in lines if line["job_id"] == job.id]
            said = [(line["from"], line["to"], line["reason"], line["attempt"]) for line in ours]
            assert said == [(e.from_state, e.to_state, e.reason, e.attempt) for e in events]
            types |= {event.type for event in events}
        assert types >= {
            "job_lease_expired",
            "job_taken_over",
            "job_retry_scheduled",
            "job_failed",
            "job_expired",
            "job_resumed",
            "job_cancelled",
        }
