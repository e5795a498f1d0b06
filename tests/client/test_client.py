"""`Engine("http://…")`: what an engine does, for a service that has no database access."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from holdfast import Context, Engine, JobCancelledError, JobFailedError, PermanentError, WaitTimeoutError
from holdfast.api.app import create_app
from holdfast.client import connection as connection_module
from holdfast.client.engine import RemoteEngine
from holdfast.client.inside import HereOnlyError
from holdfast.client.problems import ApiLostError
from holdfast.config import ConfigError
from holdfast.kernel.errors import (
    DuplicateKeyError,
    HoldfastError,
    NotAllowedError,
    NotFoundError,
    PayloadError,
    StoreLostError,
)
from holdfast.tasks.signature import ArgumentsError
from tests.api.streaming import Served, serving


@dataclass
class Point:
    x: int
    y: int


def declare(engine: Engine) -> dict[str, Any]:
    """The tasks, as both sides know them: where they run, and where they are only submitted."""

    @engine.task(queue="texts")
    def words(ctx: Context, html: str) -> int:
        return len(html.split())

    @engine.task
    def move(point: Point, by: int = 1) -> Point:
        return Point(point.x + by, point.y)

    @engine.task(retries=0, on_exhausted="dead_letter")
    def fail(why: str) -> None:
        raise PermanentError(why, code="bad_request")

    @engine.task(lifecycle="workflow")
    def flow(n: int) -> int:
        return n

    return {"words": words, "move": move, "fail": fail, "flow": flow}


@pytest.fixture(params=["sqlite", "postgres"])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    sqlite = f"sqlite:///{tmp_path / 'holdfast.db'}"
    engine = Engine(sqlite if request.param == "sqlite" else request.getfixturevalue("postgres_dsn"))
    declare(engine)
    with serving(engine, create_app(engine._inside)) as made:
        yield made
    engine.close()


@pytest.fixture
def remote(served: Served) -> Iterator[Engine]:
    engine = Engine(served.url)
    yield engine
    engine.close()


QUEUES = ("default", "texts")


def test_it_is_an_engine(remote: Engine) -> None:
    assert isinstance(remote, RemoteEngine)
    assert isinstance(remote, Engine)


def test_a_declared_task_is_submitted_and_its_result_has_its_type(served: Served, remote: Engine) -> None:
    tasks = declare(remote)
    job = tasks["move"].submit(Point(1, 2), by=5)
    assert str(job.state()) == "queued"
    with served.engine.worker(queues=QUEUES):
        assert job.result(timeout=20) == Point(6, 2)
    assert job.state().is_successful_terminal()
    assert [event.type for event in job.events()] == [
        e.type for e in served.engine._inside.portal.call(_events(served, job.id))
    ]


async def _events(served: Served, job_id: str) -> list[Any]:
    return await (await served.engine._inside.opened()).reads.events(job_id)


def test_arguments_are_checked_before_anything_is_sent(remote: Engine) -> None:
    tasks = declare(remote)
    with pytest.raises(ArgumentsError, match="x"):
        tasks["move"].submit({"x": "no", "y": 1})
    assert remote.list_jobs() == []


def test_the_servers_declaration_counts_unless_options_say_other(served: Served, remote: Engine) -> None:
    @remote.task
    def words(html: str) -> int: ...  # type: ignore[empty-body] # for its name and types alone

    assert served.engine.get_job(words.submit("a b").id).queue == "texts"
    later = datetime.now(UTC) + timedelta(days=9)
    made = words.options(
        queue="other", priority=5, delay="1h", key="k", tags=("a", "b"), correlation_id="c-1", keep_until=later
    ).submit("a b")
    job = served.engine.get_job(made.id)
    assert (job.queue, job.priority, job.key, job.correlation_id, job.tags) == ("other", 5, "k", "c-1", '["a","b"]')
    assert 3_590_000 < job.due_at_ms - job.created_at_ms < 3_610_000
    assert job.keep_until_ms == round(later.timestamp() * 1_000)
    assert words.options(key="k").submit("a b").id == made.id


def test_by_name_without_a_declaration(served: Served, remote: Engine) -> None:
    job = remote.submit("words", {"html": "a b c"}, queue="default")
    with served.engine.worker(queues=QUEUES):
        assert job.result(timeout=20) == 3


async def test_the_asynchronous_forms(served: Served, remote: Engine) -> None:
    tasks = declare(remote)
    with served.engine.worker(queues=QUEUES):
        job = await tasks["words"].asubmit("a b")
        assert await job.aresult(timeout=20) == 2
        assert str(await job.astate()) == "succeeded"
        many = await tasks["words"].asubmit_many([("a",), {"html": "a b"}])
        assert [await each.aresult(timeout=20) for each in many] == [1, 2]
        assert (await job.await_(timeout=20)).is_terminal()
    waiting = await tasks["flow"].options(delay="1h").asubmit(1)
    assert str(await waiting.acancel("why")) == "CANCELLED"


@pytest.mark.slow
def test_many_at_once_go_in_portions(served: Served, remote: Engine) -> None:
    tasks = declare(remote)
    jobs = tasks["words"].submit_many([("a",)] * 2_300)
    assert len({job.id for job in jobs}) == 2_300
    assert len(remote.list_jobs(limit=3_000, task="words")) == 2_300
    large = tasks["words"].submit_many([("x" * 200_000,)] * 8)  # more than the API takes in one body
    assert len(large) == 8


def test_jobs_are_looked_at_listed_and_changed(served: Served, remote: Engine) -> None:
    tasks = declare(remote)
    job = tasks["flow"].options(delay="1h", key="k-1").submit(1)
    here, there = remote.get_job(job.id), served.engine.get_job(job.id)
    shown: tuple[str, ...] = (
        "id",
        "lifecycle",
        "task",
        "queue",
        "priority",
        "state",
        "attempt",
        "version",
        "tries",
        "max_tries",
    )
    shown += (
        "due_at_ms",
        "created_at_ms",
        "key",
        "correlation_id",
        "trace_id",
        "parent_id",
        "payload",
        "changed_at_ms",
    )
    assert {name: getattr(here, name) for name in shown} == {name: getattr(there, name) for name in shown}
    assert [each.id for each in remote.list_jobs(state="CREATED")] == [job.id]
    assert remote.list_jobs(state="COMPLETED") == []
    assert str(job.cancel("no need")) == "CANCELLED"
    assert job.events()[-1].reason == "no need"
    with pytest.raises(JobCancelledError):
        job.result(timeout=5)
    assert str(remote.resume_job(job.id)) == "CREATED"
    assert remote.retry_job(job.id).id == job.id


def test_a_failure_is_told_as_it_is_here(served: Served, remote: Engine) -> None:
    job = remote.submit("fail", {"why": "broken"})
    with served.engine.worker(queues=QUEUES), pytest.raises(JobFailedError, match="broken") as failed:
        job.result(timeout=20)
    assert failed.value.error is not None
    assert failed.value.error["code"] == "bad_request"
    [letter] = remote.dead_letters(task="fail")
    assert letter == served.engine.dead_letters()[0]
    again = remote.replay(job.id, edits={"why": "still"})
    assert served.engine.get_job(again.id).payload == '{"why":"still"}'
    assert remote.dead_letters() == []
    assert [each.job_id for each in remote.dead_letters(resolved=None)] == [job.id]


def test_waiting_that_takes_too_long(remote: Engine) -> None:
    job = remote.submit("words", {"html": "a"})
    with pytest.raises(WaitTimeoutError, match="queued"):
        job.result(timeout=0.2)


def test_queues_are_paused_and_resumed(served: Served, remote: Engine) -> None:
    remote.pause_queue("texts", "for now")
    assert remote.resume_queue("texts")
    assert not remote.resume_queue("texts")


def test_errors_are_the_engines_own(served: Served, remote: Engine) -> None:
    tasks = declare(remote)
    missing = "01900000-0000-7000-8000-000000000000"
    with pytest.raises(NotFoundError) as none:
        remote.get_job(missing)
    assert missing in none.value.message
    with pytest.raises(NotFoundError, match="words") as unknown:
        remote.submit("wrods", {})
    assert (unknown.value.what, unknown.value.name) == ("task", "wrods")
    with pytest.raises(ArgumentsError) as wrong:
        remote.submit("move", {"pint": 1})
    assert wrong.value.remedy is not None
    job = tasks["flow"].options(key="k", delay="1h").submit(1)
    with pytest.raises(DuplicateKeyError) as held:
        tasks["flow"].options(key="k", duplicates="reject").submit(2)
    assert (held.value.key, held.value.job_id, held.value.field) == ("k", job.id, "key")
    job.cancel()
    with pytest.raises(NotAllowedError) as ended:
        job.cancel()
    assert "resume" in ended.value.allowed
    assert (ended.value.state, ended.value.command) == ("CANCELLED", "cancel")
    with pytest.raises(PayloadError) as queue:
        remote.submit("words", {"html": "a"}, queue="x" * 300)
    assert queue.value.field == "queue"
    with pytest.raises(HoldfastError, match="nowhere"):
        remote.list_jobs(state="nowhere")
    with pytest.raises(HoldfastError) as option:
        remote.submit("words", {"html": "a"}, prio=1)
    assert option.value.field == "prio"


@pytest.mark.parametrize("option", ["connection", "parent_id"])
def test_options_that_cannot_be_sent_are_refused(remote: Engine, option: str) -> None:
    tasks = declare(remote)
    with pytest.raises(HoldfastError) as refused:
        tasks["words"].options(**{option: "x"}).submit("a")
    assert refused.value.field == option


def test_what_needs_the_database_says_so(remote: Engine) -> None:
    tasks = declare(remote)
    with pytest.raises(HereOnlyError, match="worker"), remote.worker():
        pass
    with pytest.raises(HereOnlyError, match="schedule"):
        remote.schedule("nightly", tasks["words"], cron="0 0 * * *")
    with pytest.raises(HereOnlyError, match="database itself"):
        remote._inside.portal.call(remote._inside.opened())


def test_the_trace_goes_along(served: Served, remote: Engine) -> None:
    trace_id = "0af7651916cd43dd8448eb211c80319c"
    job = remote.submit("words", {"html": "a"}, trace_id=trace_id)
    assert served.engine.get_job(job.id).trace_id == trace_id
    assert job.events()[0].trace_id == trace_id


def test_a_caller_in_a_trace_hands_it_on(served: Served, remote: Engine) -> None:
    from holdfast.observe.current import Current, current

    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    token = current.set(Current(trace_id=trace_id, correlation_id="order-7"))
    try:
        job = remote.submit("words", {"html": "a"})
    finally:
        current.reset(token)
    made = served.engine.get_job(job.id)
    assert (made.trace_id, made.correlation_id) == (trace_id, "order-7")


def test_following(served: Served, remote: Engine) -> None:
    tasks = declare(remote)
    first = tasks["words"].submit("a")
    follow = remote.follow(after=0, tasks=["words"])
    assert next(follow).job_id == first.id
    other = tasks["flow"].submit(1)
    second = tasks["words"].submit("b")
    found = next(follow)
    assert found.job_id == second.id
    follow.close()  # type: ignore[attr-defined] # a generator, which callers need not know
    assert [e.job_id for e in _take(remote.follow(after=found.pos - 1), 1)] == [second.id]
    here = _take(served.engine.follow(after=0, states=["CREATED"], lifecycles=["workflow"]), 1)
    assert [e.job_id for e in here] == [other.id]
    with pytest.raises(HoldfastError, match="nowhere"):
        next(remote.follow(states=["nowhere"]))
    with pytest.raises(HoldfastError, match="list"):
        next(served.engine.follow(states="failed"))


def _take(events: Iterator[Any], count: int) -> list[Any]:
    return [next(events) for _ in range(count)]


async def test_following_from_a_loop(served: Served, remote: Engine) -> None:
    tasks = declare(remote)
    for engine in (remote, served.engine):
        found = []
        events = engine.afollow(jobs=[], tasks=["words"], after=0)
        job = await tasks["words"].asubmit("a")
        async with asyncio.timeout(10):
            async for event in events:
                found.append(event.job_id)
                if event.job_id == job.id:
                    break
        assert found[-1] == job.id
        await events.aclose()  # type: ignore[attr-defined] # as above


def test_an_api_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "PATIENCE_S", 0.2)
    remote = Engine("http://127.0.0.1:9")
    remote._inside.portal.call(_impatient(remote))
    with pytest.raises(ApiLostError, match="cannot be reached") as lost:
        remote.list_jobs()
    assert isinstance(lost.value, StoreLostError)
    assert isinstance(lost.value, ConnectionError)
    assert "address" in (lost.value.remedy or "")
    remote.close()


async def _impatient(remote: Engine) -> None:
    assert isinstance(remote, RemoteEngine)
    remote._inside.connection._patience_s = 0.2


def test_a_key_is_shown(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str | None] = []
    real = httpx.AsyncClient.request

    async def watched(self: httpx.AsyncClient, *args: Any, **options: Any) -> httpx.Response:
        seen.append(self.headers.get("Authorization"))
        return await real(self, *args, **options)

    monkeypatch.setattr(httpx.AsyncClient, "request", watched)
    given = Engine(served.url, key="abc")
    with pytest.raises(HoldfastError, match="wrong") as refused:
        given.list_jobs()
    assert getattr(refused.value, "code", None) == "unauthorized"
    given.close()
    monkeypatch.setenv("HOLDFAST_DB", served.url)
    monkeypatch.setenv("HOLDFAST_KEY", "def")
    from_environment = Engine()
    assert isinstance(from_environment, RemoteEngine)
    with pytest.raises(HoldfastError):
        from_environment.list_jobs()
    from_environment.close()
    assert seen == ["Bearer abc", "Bearer def"]


def test_addresses_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no address"):
        Engine("http://")
    with pytest.raises(ConfigError, match="key"):
        Engine(f"sqlite:///{tmp_path}/x.db", key="k")
    with pytest.raises(HoldfastError, match="clock"):
        Engine("http://127.0.0.1:1", clock=lambda: 0)


def test_waiting_survives_a_restart_of_the_api(tmp_path: Path) -> None:
    engine = Engine(f"sqlite:///{tmp_path / 'holdfast.db'}")
    declare(engine)
    with serving(engine, create_app(engine._inside)) as first:
        remote = Engine(first.url)
        job = remote.submit("words", {"html": "a b"})
        port = int(first.url.rpartition(":")[2])
    waiting = remote._inside.portal.loop
    future = asyncio.run_coroutine_threadsafe(job._result(20), waiting)
    time.sleep(0.2)
    with serving(engine, create_app(engine._inside), port=port), engine.worker(queues=QUEUES):
        assert future.result(20) == 2
    remote.close()
    engine.close()
