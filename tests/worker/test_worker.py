"""What a worker does with jobs: it claims, runs them where they belong, and writes what they ended with."""

import asyncio
import json
import logging
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from holdfast import Engine, HoldfastError, JobFailedError
from holdfast.store.dialect import Lane
from holdfast.store.jobs.claiming import Lanes
from holdfast.worker.weights import weights
from tests.app import crash
from tests.working import events_of, until, working


@pytest.mark.rule("D02", "W06")
def test_runs_in_the_loop_in_threads_and_in_processes(app: Engine) -> None:
    @app.task
    def here(name: str) -> str:
        return f"{name} {os.getpid()}"

    with working(app):
        loop = app.submit("add", {"a": 2, "b": 3})
        thread = here.submit("thread")
        process = [app.submit("whoami") for _ in range(2)]
        assert loop.result(20) == 5
        assert thread.result(20) == f"thread {os.getpid()}"
        assert os.getpid() not in [job.result(20) for job in process]
        assert [event.type for event in events_of(app, loop.id)] == [
            "job_submitted",
            "job_claimed",
            "job_started",
            "job_succeeded",
        ]


def test_a_long_run_keeps_nobody_waiting_while_there_is_room(app: Engine) -> None:
    go_on = threading.Event()

    @app.task
    async def long() -> None:
        while not go_on.is_set():  # noqa: ASYNC110 - it waits for another thread
            await asyncio.sleep(0.01)

    with working(app, concurrency=2):
        first = long.submit()
        until(lambda: first.state() == "running")
        assert [app.submit("add", {"a": n, "b": 1}).result(20) for n in range(3)] == [1, 2, 3]
        go_on.set()


def test_a_process_is_used_again(app: Engine) -> None:
    with working(app):
        pids = {app.submit("whoami").result(20) for _ in range(3)}
    assert len(pids) == 1


@pytest.mark.rule("W06")
def test_the_highest_priority_runs_first_and_no_more_at_once_than_there_is_room(app: Engine) -> None:
    order: list[int] = []
    now = most = 0

    @app.task
    async def one(n: int) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        order.append(n)
        await asyncio.sleep(0.005)
        now -= 1

    jobs = [one.options(priority=n).submit(n) for n in range(9)]
    with working(app, concurrency=3):
        for job in jobs:
            job.wait(20)
    assert most == 3
    assert [sorted(order[i : i + 3]) for i in (0, 3, 6)] == [[6, 7, 8], [3, 4, 5], [0, 1, 2]]


def test_a_task_that_is_not_known_here_is_left_to_others(app: Engine) -> None:
    stranger = Engine(app.url)
    stranger.task(name="elsewhere")(lambda: None)
    job = stranger.submit("elsewhere")
    with working(app):
        until(lambda: len(events_of(app, job.id)) >= 4)
    found = app.get_job(job.id)
    stranger.close()
    assert (found.state, found.tries) == ("queued", 0)
    assert found.due_at_ms > found.changed_at_ms
    assert events_of(app, job.id)[3].reason == "unknown_task"


def test_a_handler_cannot_take_its_worker_along(app: Engine) -> None:
    @app.task(retries=0)
    async def leave() -> None:
        sys.exit(3)

    @app.task(retries=0)
    def stop() -> None:
        raise StopIteration

    @app.task(retries=0)
    async def cancels_itself() -> None:
        raise asyncio.CancelledError

    @app.task(retries=0)
    def leave_thread() -> None:
        raise SystemExit

    with working(app):
        for task in (leave, stop, cancels_itself, leave_thread):
            assert task.submit().wait(20) == "failed"
        assert app.submit("add", {"a": 1, "b": 1}).result(20) == 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["loop", "swallows", "thread", pytest.param("process", marks=pytest.mark.slow)])
def test_time_out(app: Engine, tmp_path: Path, kind: str) -> None:
    """The job is over while its handler is not."""
    enough = threading.Event()

    @app.task(retries=0, timeout="200ms")
    async def loop() -> None:
        await asyncio.sleep(60)

    @app.task(retries=0, timeout="200ms")
    async def swallows() -> str:
        while not enough.is_set():
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.05)
        return "too late"

    @app.task(retries=0, timeout="200ms")
    def thread() -> str:
        enough.wait(20)
        return "too late"

    app.task(name="process", executor="process", retries=0, timeout="200ms")(tasks_nap)
    args = {"file": str(tmp_path / "naps"), "seconds": 20} if kind == "process" else {}
    with working(app, concurrency=1):
        if kind == "process":
            app.submit("whoami").result(20)
        job = app.submit(kind, args)
        assert job.wait(10) == "failed"
        with pytest.raises(JobFailedError, match=r"timeout: ran longer than its 0.2 s"):
            job.result(1)
        assert app.submit("add", {"a": 1, "b": 1}).result(5) == 2, "its slot is free again"
        enough.set()


def tasks_nap(file: str, seconds: float) -> None:
    time.sleep(seconds)


@pytest.mark.slow
@pytest.mark.rule("D12")
@pytest.mark.parametrize(("how", "said"), [("exit", {"exit_code": 3}), ("kill", {"signal": "SIGKILL"})])
def test_three_crashes_are_enough(app: Engine, tmp_path: Path, how: str, said: dict[str, object]) -> None:
    file = tmp_path / "crashes"
    with working(app):
        job = app.submit("crash", {"file": str(file), "how": how})
        assert job.wait(30) == "dead_lettered"
    events = events_of(app, job.id)
    assert [event.to_state for event in events if event.reason] == ["queued", "queued", "dead_lettered"]
    assert [event.reason for event in events if event.reason] == [
        "process_died",
        "process_died",
        "infrastructure_failure",
    ]
    errors = [json.loads(event.payload)["error"] for event in events if event.reason]
    assert all(error["code"] == "process_died" and said.items() <= error["context"].items() for error in errors)
    assert len(file.read_text().splitlines()) == 3
    found = app.get_job(job.id)
    assert (found.attempt, found.losses) == (3, 2)


@pytest.mark.slow
def test_a_run_that_is_taken_over_after_a_crash(app: Engine, tmp_path: Path) -> None:
    """A pipeline does not go back to its queue: the next attempt takes the run over, at once, and twice at most."""
    file = tmp_path / "crashes"
    app.task(name="staged", executor="process", lifecycle="pipeline", lease="60s")(tasks_crash)
    with working(app, chores=True):
        job = app.submit("staged", {"file": str(file)})
        assert job.wait(30) == "FAILED"
    assert [event.type for event in events_of(app, job.id)] == [
        "job_submitted",
        "job_started",
        "job_taken_over",
        "job_taken_over",
        "job_failed",
    ]
    assert "exited with 3" in (app.get_job(job.id).outcome or "")


def tasks_crash(file: str) -> None:
    crash(file, "exit")


def test_a_process_task_that_no_process_can_find_says_so(app: Engine) -> None:
    @app.task(executor="process")
    def inner() -> None: ...

    with working(app):
        job = inner.submit()
        assert job.wait(20) == "failed"
        with pytest.raises(JobFailedError, match=r"task_not_importable: .*define it at the top level of a module"):
            job.result(1)


SCRIPT = """
import os, sys
from holdfast import Context, Engine

app = Engine(sys.argv[1] if __name__ == "__main__" else "sqlite:///unused.db")

@app.task(executor="process")
def apart(ctx: Context, n: int) -> list:
    ctx.progress(1, 2)
    return [ctx.step("double", lambda: 2 * n), os.getpid(), __name__]

if __name__ == "__main__":
    with app.worker():
        doubled, pid, name = apart.submit(21).result(20)
    assert doubled == 42 and pid != os.getpid() and name == "__mp_main__"
    app.close()
    print("fine")
"""


@pytest.mark.slow
def test_a_process_task_of_a_script(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    run = subprocess.run(
        [sys.executable, script, f"sqlite:///{tmp_path / 'script.db'}"],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.stdout.splitlines()[-1:] == ["fine"], run.stdout + run.stderr


@pytest.mark.slow
def test_a_worker_that_a_script_does_not_guard(tmp_path: Path) -> None:
    """Loaded a second time, for a task's process, it must not start workers of its own."""
    script = tmp_path / "script.py"
    script.write_text(
        f"""
from holdfast import Engine
app = Engine("sqlite:///{tmp_path / "script.db"}")
@app.task(executor="process")
def apart() -> None: ...
with app.worker():
    job = apart.submit()
    print(job.wait(20))
    print(job.job().outcome)
app.close()
"""
    )
    run = subprocess.run([sys.executable, script], check=False, capture_output=True, text=True, timeout=60)
    assert "failed" in run.stdout.splitlines(), run.stdout + run.stderr
    assert "start workers under" in run.stdout


@pytest.mark.slow
def test_a_paused_queue_is_not_claimed_from(app: Engine) -> None:
    with working(app):
        app.submit("add", {"a": 1, "b": 1}).result(20)
        app.pause_queue("default", "for a test")
        time.sleep(1.1)
        job = app.submit("add", {"a": 2, "b": 2})
        time.sleep(0.3)
        assert job.state() == "queued"
        app.resume_queue("default")
        assert job.result(20) == 4


def test_queues_come_first_as_often_as_they_weigh() -> None:
    lanes = Lanes([Lane(queue, "durable", "queued", 0) for queue in ("a", "b")] + [Lane("b", "durable", "queued", -9)])
    firsts = [lanes.order({"a": 3, "b": 1})[1].queue for _ in range(2_000)]
    assert 0.70 < firsts.count("a") / 2_000 < 0.80
    assert all(lanes.order({"a": 3, "b": 1})[0].turn == -9 for _ in range(20)), "priority comes before weight"


def test_weights() -> None:
    assert weights("a") == {"a": 1}
    assert weights(["a:3", "b"]) == {"a": 3, "b": 1}
    assert weights({"a": 3, "b": 1}) == {"a": 3, "b": 1}
    for bad in ("a:0", "a:x", ":3", "a:-1"):
        with pytest.raises(HoldfastError, match="weight"):
            weights(bad)
    with pytest.raises(HoldfastError, match="without queues"):
        weights([])


def test_both_queues_of_a_weighted_worker_are_served(app: Engine) -> None:
    with working(app, queues={"a": 3, "b": 1}):
        jobs = [app.submit("add", {"a": n, "b": 0}, queue="ab"[n % 2]) for n in range(10)]
        assert [job.result(20) for job in jobs] == list(range(10))


def test_a_worker_is_on_record_while_it_works(app: Engine) -> None:
    async def workers() -> list[tuple[str, tuple[str, ...], int, dict[str, int]]]:
        rows = await (await app._inside.opened()).admin.workers.list()
        return [(row.owner, row.queues, row.concurrency, row.stats) for row in rows]

    with working(app, queues="default:2", concurrency=7) as worker:
        [(owner, queues, concurrency, stats)] = app._inside.portal.call(workers())
        assert (owner, queues, concurrency) == (worker.owner, ("default",), 7)
        assert stats == {"running": 0, "claimed": 0, "written": 0, "refused": 0, "lost": 0, "renewed": 0}
    assert app._inside.portal.call(workers()) == []


@pytest.mark.rule("C19")
def test_one_line_for_each_transition(app: Engine, caplog: pytest.LogCaptureFixture) -> None:
    tries: list[int] = []

    @app.task(retries=1, backoff="1ms")
    def second_time_lucky() -> None:
        tries.append(1)
        if len(tries) == 1:
            raise ValueError("no")

    with caplog.at_level(logging.INFO, "holdfast.transition"), working(app):
        jobs = [second_time_lucky.submit(), app.submit("add", {"a": 1, "b": 1})]
        for job in jobs:
            job.wait(20)
        later = app.submit("add", {"a": 1, "b": 1}, delay="1h")
        later.cancel("no longer wanted")
    lines = [json.loads(record.getMessage()) for record in caplog.records if record.name == "holdfast.transition"]
    for job in (*jobs, later):
        said = [
            (line["event"], line["from"], line["to"], line["reason"], line["attempt"])
            for line in lines
            if line["job_id"] == job.id
        ]
        events = [(e.type, e.from_state, e.to_state, e.reason, e.attempt) for e in events_of(app, job.id)]
        # A line comes behind its commit: a worker in another thread may claim before who has submitted says so.
        assert [line for line in said if line[0] != "job_submitted"] == events[1:]
        assert said.count(events[0]) == 1


@pytest.mark.rule("C19")
def test_a_line_that_nobody_wants_costs_nothing(app: Engine, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "holdfast.transition"), working(app):
        app.submit("add", {"a": 1, "b": 1}).result(20)
    assert [record for record in caplog.records if record.name == "holdfast.transition"] == []
