"""What is done to jobs that exist: retried, hastened, deleted, cancelled in numbers; by the lifecycle's own rows."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import Context, Engine, PermanentError, TransientError
from holdfast.audit.auditor import audit
from holdfast.commands.cancel import cancel_many
from holdfast.commands.delete import delete
from holdfast.kernel.errors import NotAllowedError, NotFoundError
from holdfast.kernel.event import PROGRESS
from holdfast.kernel.retry import RetryPolicy
from holdfast.store.port import Lease, Store
from holdfast.systems.crawl.lifecycle import CRAWL
from holdfast.testing import MovableClock, drain
from tests.engines import STORES, address, engine_on, on_store


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture(params=STORES)
def app(request: pytest.FixtureRequest, tmp_path: Path, clock: MovableClock) -> Iterator[Engine]:
    with engine_on(address(request, tmp_path), clock) as engine:
        yield engine


def clean(app: Engine) -> bool:
    return asyncio.run(audit(app.url)).total_violations == 0


@pytest.mark.parametrize("lifecycle", ["durable", "crawl", "workflow"])
def test_a_job_that_waits_for_its_retry_becomes_due(app: Engine, clock: MovableClock, lifecycle: str) -> None:
    hour = RetryPolicy(max_tries=3, base_ms=3_600_000)

    @app.task(lifecycle=lifecycle, backoff=hour, expires="9h")
    def wobble(ctx: Context) -> int:
        if ctx.tries < 2:
            raise TransientError("not yet")
        return ctx.tries

    job = wobble.submit()
    drain(app)
    before = job.job()
    assert before.due_at_ms == clock() + 3_600_000
    assert app.retry_job(job.id, "now, please").id == job.id
    row = job.job()
    assert (row.due_at_ms, row.tries, row.attempt) == (clock(), before.tries, before.attempt + 1)
    assert app.retry_job(job.id).id == job.id  # it is due: nothing is left to do
    assert job.job() == row
    drain(app)
    assert job.result(timeout=1) == 2
    assert clean(app)


def test_a_delayed_job_becomes_due(app: Engine, clock: MovableClock) -> None:
    @app.task
    def quick() -> str:
        return "ok"

    job = quick.options(delay="1h").submit()
    drain(app)
    assert job.state() == "queued"
    app.retry_job(job.id, "it cannot wait")
    due = job.events()[-1]
    assert [event.type for event in job.events()] == ["job_submitted", "job_hastened"], "nobody has claimed it"
    assert (due.actor, due.reason, due.attempt) == ("client", "it cannot wait", 2)
    drain(app)
    assert job.result(timeout=1) == "ok"
    assert clean(app)


def test_what_cannot_be_hastened_says_so(app: Engine) -> None:
    @app.task(lifecycle="pipeline")
    def stages() -> None: ...

    job = stages.options(delay="1h").submit()
    with pytest.raises(NotAllowedError, match="cannot be hastened"):
        app.retry_job(job.id)
    assert job.job().version == 1


def test_a_failed_job_is_retried_as_a_new_one(app: Engine) -> None:
    seen = []

    @app.task(retries=0)
    def once(n: int) -> int:
        seen.append(n)
        if len(seen) == 1:
            raise PermanentError("no")
        return n

    old = once.options(priority=4).submit(7)
    drain(app)
    before = old.job()
    assert before.state == "failed"
    new = app.retry_job(old.id, "try again")
    assert app.retry_job(old.id).id == new.id  # as long as it lives
    row = new.job()
    assert (row.parent_id, row.key, row.payload, row.priority) == (old.id, f"retry:{old.id}", before.payload, 4)
    assert new.events()[0].reason == "try again"
    drain(app)
    assert new.result(timeout=1) == 7
    assert old.job() == before
    with pytest.raises(NotAllowedError, match="needs no retry"):
        app.retry_job(new.id)
    assert clean(app)


def test_a_dead_job_is_retried_by_its_letter(app: Engine) -> None:
    @app.task(retries=0, on_exhausted="dead_letter")
    def never() -> None:
        raise TransientError("no")

    old = never.submit()
    drain(app)
    new = app.retry_job(old.id)
    assert new.job().key == f"dlq:{old.id}"
    assert app.replay(old.id).id == new.id


def test_a_running_job_is_not_retried(app: Engine) -> None:
    @app.task
    def idle() -> None: ...

    job = idle.submit()
    on_store(app, lambda store: store.jobs.claim(["default"], 1, "worker-1"))
    with pytest.raises(NotAllowedError, match="is running"):
        app.retry_job(job.id)
    with pytest.raises(NotFoundError):
        app.retry_job("what")


def test_a_finished_job_is_deleted_with_all_that_it_left(app: Engine) -> None:
    @app.task
    def write(ctx: Context) -> None:
        ctx.artifact("a.txt", "text")
        ctx.step("one", len, "abc")

    done, alive = write.submit(), write.options(delay="1h").submit()
    drain(app)

    async def left(store: Store) -> tuple[int, int]:
        return len(await store.kept.artifacts(done.id)), len(await store.kept.steps(done.id))

    assert on_store(app, left) == (1, 1)
    with pytest.raises(NotAllowedError, match=f"holdfast job cancel {alive.id}, first"):
        on_store(app, delete, [done.id, alive.id])
    record = on_store(app, delete, [done.id]).purged
    assert record is not None
    assert record.jobs == 1
    with pytest.raises(NotFoundError):
        app.get_job(done.id)
    assert on_store(app, left) == (0, 0)
    assert clean(app)


@pytest.mark.rule("W11", "W12")
def test_cancel_and_resume_from_every_state_that_is_not_the_end(app: Engine) -> None:
    @app.task(lifecycle="workflow", backoff="1m", expires="9h")
    def node() -> None:
        raise TransientError("not yet")

    created, retrying, active = node.submit(), node.submit(), node.options(queue="held").submit()
    on_store(app, lambda store: store.jobs.claim(["held"], 1, "worker-1"))
    assert (created.state(), active.state()) == ("CREATED", "ACTIVE")
    assert app.cancel_job(created.id, "not needed") == "CANCELLED"
    assert app.cancel_job(active.id, "now", mode="hard") == "CANCELLED"
    drain(app)
    assert retrying.state() == "RETRY"
    assert app.cancel_job(retrying.id) == "CANCELLED"
    for job in (created, retrying, active):
        with pytest.raises(NotAllowedError):
            app.cancel_job(job.id)
        assert app.resume_job(job.id, "after all") == "CREATED"
        assert job.job().tries == 0
    assert clean(app)


def test_many_are_cancelled_each_as_it_stands(app: Engine) -> None:
    @app.task
    def idle() -> None: ...

    queued, held, over = idle.submit(), idle.options(queue="held").submit(), idle.options(queue="over").submit()
    on_store(app, lambda store: store.jobs.claim(["held"], 1, "worker-1"))
    app.cancel_job(over.id)
    jobs = [job.job() for job in (queued, held, over)]
    done, left = on_store(app, cancel_many, jobs, "all of it")
    assert done == [queued.id, held.id]
    assert list(left) == [over.id]
    assert queued.state() == "cancelled"
    assert str(held.job().cancel_requested).startswith("soft: ")


def test_the_depth_of_queues(app: Engine, clock: MovableClock) -> None:
    @app.task
    def idle() -> None: ...

    for n in range(3):
        idle.options(queue="texts", priority=n).submit()
    clock.advance("4s")
    idle.options(queue="texts", delay="1h").submit()
    idle.options(queue="held").submit()
    on_store(app, lambda store: store.jobs.claim(["held"], 1, "worker-1"))
    app.pause_queue("quiet", "deploy")
    depths = on_store(app, lambda store: store.admin.queues.depths())
    assert depths.keys() == {"texts", "held"}
    texts = depths["texts"]
    assert (texts.queued, texts.due, texts.leased, texts.oldest_due_ms) == (4, 3, 0, clock() - 4_000)
    assert (depths["held"].queued, depths["held"].leased) == (0, 1)
    clock.advance("1s")
    app.pause_queue("quiet")
    pause = on_store(app, lambda store: store.admin.queues.pauses())["quiet"]
    assert (pause.at_ms, pause.reason) == (clock() - 1_000, "deploy")
    [lease] = on_store(app, lambda store: store.admin.queues.leases())
    assert lease.lease_owner == "worker-1"
    assert on_store(app, lambda store: store.admin.queues.lost()) == 0
    clock.advance("2m")
    assert on_store(app, lambda store: store.admin.queues.lost()) == 1


@pytest.mark.rule("C03")
def test_the_triggers_of_a_crawl_do_what_their_names_say(app: Engine, clock: MovableClock) -> None:
    """accept, start, heartbeat, progress, complete, error and cancel, by the calls that give them."""
    assert list(CRAWL.triggers) == ["accept", "start", "heartbeat", "progress", "complete", "error", "cancel"]

    @app.task(lifecycle="crawl")
    def crawl(ctx: Context, code: str | None = None) -> dict[str, int]:
        ctx.progress(3, 10, urls_processed=3)
        if code is not None:
            raise PermanentError("no", code=code) if code == "invalid_url" else TransientError("no", code=code)
        return {"documents": 3}

    accepted = crawl.submit()
    assert (accepted.state(), [event.type for event in accepted.events()]) == ("queued", ["job_accepted"])

    async def start_and_beat(store: Store) -> None:
        [job] = await store.jobs.claim(["default"], 1, "worker-1")
        assert (job.state, job.started_at_ms, job.lease_until_ms) == ("running", clock(), clock() + 90_000)
        clock.advance("10s")
        assert await store.jobs.renew("worker-1", [Lease(job.id, job.attempt)]) == []
        renewed = await store.reads.get(job.id)
        assert renewed is not None
        assert renewed.lease_until_ms == clock() + 90_000
        clock.advance("91s")  # none for 90 s: rescheduled

    on_store(app, start_and_beat)
    drain(app, move_clock="1h")
    assert [event.type for event in accepted.events()][1:] == [
        "job_started",
        "job_lease_expired",
        "job_started",
        "job_succeeded",
    ]
    assert accepted.result(timeout=1) == {"documents": 3}
    signals = on_store(app, lambda store: store.reads.signals(accepted.id))
    assert {signal.type for signal in signals} >= {"job_lease_renewed", PROGRESS}

    permanent, transient, unwanted = crawl.submit("invalid_url"), crawl.submit("network_error"), crawl.submit()
    assert app.cancel_job(unwanted.id) == "canceled"
    drain(app)
    assert (permanent.state(), transient.state()) == ("failed", "retry_pending")
