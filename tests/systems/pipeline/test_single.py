"""One run of a pipeline at a time, over all processes and whichever way it is submitted."""

import contextlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from holdfast import Engine, HoldfastError, JobFailedError
from holdfast.kernel.errors import DuplicateKeyError
from holdfast.systems.pipeline.declare.pipeline import Pipeline, pipeline_named
from holdfast.testing import drain
from tests.working import ROOT, until, working


def declared(app: Engine, gate: threading.Event | None = None) -> Pipeline[dict[str, object]]:
    pipe = app.pipeline("alone", single=True)

    @pipe.stage
    def only() -> int:
        assert gate is None or gate.wait(10)
        return 1

    return pipe


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def test_a_second_submit_gets_the_run_that_is_under_way(app: Engine, database: str) -> None:
    pipe = declared(app)
    job = pipe.submit()
    other = Engine(database)
    try:
        again = declared(other).submit(other="config")
        assert (job.created, again.created, again.id) == (True, False, job.id)
        with pytest.raises(DuplicateKeyError) as refused:
            declared_options(other).submit()
        assert refused.value.job_id == job.id
        drain(app)
        assert job.state() == "COMPLETED"
        fresh = declared_options(other).submit()
        assert fresh.created, "the first is over"
        assert fresh.id != job.id
    finally:
        other.close()


def declared_options(app: Engine) -> Any:
    return pipeline_named(app._inside, "alone").options(duplicates="reject")


def test_a_key_of_ones_own_is_refused_with_a_reason(app: Engine) -> None:
    with pytest.raises(HoldfastError, match="runs alone: its key is its own") as refused:
        declared(app).options(key="mine").submit()
    assert refused.value.field == "key"
    assert app.list_jobs() == []


def test_many_submitters_one_run(app: Engine) -> None:
    pipe = declared(app)
    handles = []
    threads = [threading.Thread(target=lambda: handles.append(pipe.submit())) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({handle.id for handle in handles}) == 1
    assert [handle.created for handle in handles].count(True) == 1


SUBMITTER = """
import sys
from holdfast import Engine
from tests.systems.pipeline.test_single import declared

pipe = declared(Engine(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
job = pipe.submit()
print(job.id, job.created, flush=True)
"""
PROCESSES = 6


@pytest.mark.slow
def test_many_processes_one_run(app: Engine, database: str) -> None:
    declared(app)
    app._inside.portal.call(app._inside.opened())
    with contextlib.ExitStack() as stack:
        started = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", SUBMITTER, database],
                    cwd=ROOT,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for _ in range(PROCESSES)
        ]
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        answers = [process.communicate(timeout=20)[0].split() for process in started]
    assert len({job_id for job_id, _ in answers}) == 1
    assert sorted(created for _, created in answers) == ["False"] * (PROCESSES - 1) + ["True"]
    assert len(app.list_jobs()) == 1


def test_a_run_that_came_another_way_gives_way(app: Engine, gate: threading.Event) -> None:
    """Submitted by the task's name, as schedules and `holdfast run` do: no key stops it, but the run itself does."""
    pipe = declared(app, gate)
    first = pipe.submit()
    with working(app, concurrency=1), working(app, concurrency=1):
        until(lambda: first.state() == "RUNNING")
        second = app.submit("alone", {"config": {}})
        with pytest.raises(JobFailedError, match=f"runs alone, and job {first.id} is under way"):
            second.result(10)
        gate.set()
        assert first.result(10) == {"only": 1}
    assert '"code":"already_running"' in (second.job().outcome or "")
