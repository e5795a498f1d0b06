"""Worker processes that are stopped, killed and told to end: nothing is lost, and nobody waits in vain."""

import os
import re
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from holdfast import Engine
from tests.app import noted
from tests.working import events_of, until, worker_process, working

pytestmark = pytest.mark.slow


@pytest.mark.rule("D07", "D10")
def test_stopped_for_three_leases_and_continued(app: Engine, database: str, tmp_path: Path) -> None:
    """The job ran elsewhere; what the first run brings is refused and counted; the worker lives on."""
    file = tmp_path / "naps"
    log = tmp_path / "log"
    with worker_process(database, log, concurrency=2) as first:
        job = app.submit("nap", {"file": str(file), "seconds": 1})
        until(lambda: noted(file) == [f"began {first.pid}"])
        first.stop_between_writes(database)
        stopped_s = time.monotonic()
        with worker_process(database, tmp_path / "log2", concurrency=2) as second:
            until(lambda: f"began {second.pid}" in noted(file))
            assert job.result(20) == str(second.pid)
            time.sleep(max(0.0, 3.0 - (time.monotonic() - stopped_s)))
            second.send(signal.SIGTERM)
            assert second.wait() == 0
        assert job.state() == "succeeded"
        first.send(signal.SIGCONT)
        until(lambda: f"ended {first.pid}" in noted(file))
        until(lambda: "move_refused" in log.read_text() or "job_lost" in log.read_text())
        again = app.submit("nap", {"file": str(file), "seconds": 0})
        assert again.result(20) == str(first.pid), "it works on"
        first.send(signal.SIGTERM)
        assert first.wait() == 0
    counts = re.search(r"worker_stopped.* lost=(\d+).* refused=(\d+)", _plain(log.read_text()))
    assert counts, log.read_text()
    assert int(counts[1]) + int(counts[2]) == 1, (
        "lost when its worker looked first, refused when its handler was faster"
    )
    found = app.get_job(job.id)
    assert (found.state, found.outcome) == ("succeeded", f'{{"result":"{second.pid}"}}')
    assert found.attempt > 1


@pytest.mark.rule("D09", "D10")
@pytest.mark.parametrize("task", ["nap", "anap"])
def test_killed(app: Engine, database: str, tmp_path: Path, task: str) -> None:
    """SIGKILL, then running elsewhere within the lease and five seconds."""
    file = tmp_path / "naps"
    with worker_process(database, tmp_path / "log1") as first:
        job = app.submit(task, {"file": str(file), "seconds": 1})
        until(lambda: noted(file))
        with worker_process(database, tmp_path / "log2") as second:
            first.kill()
            killed_s = time.monotonic()
            until(lambda: f"began {second.pid}" in noted(file))
            assert time.monotonic() - killed_s < 1.0 + 5.0
            assert job.result(20) == str(second.pid)
    assert [event.type for event in events_of(app, job.id)] == [
        "job_submitted",
        "job_claimed",
        "job_started",
        "job_lease_expired",
        "job_claimed",
        "job_started",
        "job_succeeded",
    ]


@pytest.mark.rule("D10")
def test_told_to_end_with_a_hundred_jobs_in_flight(app: Engine, database: str, tmp_path: Path) -> None:
    """Half of them end within the grace, half are handed back at once: exit 0, none lost, none waits for its lease."""
    file = tmp_path / "naps"
    seconds = [0.5, 60.0]
    jobs = [app.submit("anap", {"file": str(file), "seconds": seconds[n % 2]}) for n in range(100)]
    with worker_process(database, tmp_path / "log", concurrency=100, grace_s=2.0) as worker:
        until(lambda: len([line for line in noted(file) if line.startswith("began")]) == 100)
        worker.send(signal.SIGTERM)
        told_s = time.monotonic()
        assert worker.wait() == 0
        assert time.monotonic() - told_s < 2.0 + 8.0
    found = [app.get_job(job.id) for job in jobs]
    assert Counter((job.state, job.attempt, job.tries) for job in found) == {
        ("succeeded", 1, 1): 50,
        ("queued", 2, 0): 50,
    }
    handed_back = [job for job in found if job.state == "queued"]
    assert all(job.lease_until_ms is None and job.due_at_ms <= job.changed_at_ms for job in handed_back)
    assert {events_of(app, job.id)[-1].type for job in handed_back[:5]} == {"job_handed_back"}


def test_told_twice(app: Engine, database: str, tmp_path: Path) -> None:
    """The second signal ends the grace."""
    file = tmp_path / "naps"
    job = app.submit("nap", {"file": str(file), "seconds": 60})
    with worker_process(database, tmp_path / "log", grace_s=60.0) as worker:
        until(lambda: noted(file))
        worker.send(signal.SIGINT)
        time.sleep(0.5)
        assert job.state() == "running"
        worker.send(signal.SIGTERM)
        told_s = time.monotonic()
        assert worker.wait() == 0
        assert time.monotonic() - told_s < 10.0
    assert job.state() == "queued"


def test_a_process_does_not_outlive_its_worker(app: Engine, database: str, tmp_path: Path) -> None:
    file = tmp_path / "naps"
    from tests import app as tasks

    app.task(name="apart", executor="process")(tasks.nap)
    with working(app) as worker:
        job = app.submit("apart", {"file": str(file), "seconds": 60})
        until(lambda: noted(file))
        pid = int(noted(file)[0].split()[1])
        assert pid != os.getpid()
        app._inside.portal.call(worker.stop(0.0))
        until(lambda: not Path(f"/proc/{pid}").exists())
    assert job.state() == "queued"


def _plain(text: str) -> str:
    """Without the colours of a console."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
