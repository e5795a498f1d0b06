"""`holdfast worker` and `holdfast job wait` as processes of their own: signals, exit codes, streams."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engines import engine_on
from tests.working import until

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sys.executable).with_name("holdfast")
APP = "tests.cli.shop:app"


class Here:
    """A directory with a database, and the program run in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            "HOLDFAST_DB": f"sqlite:///{folder}/jobs.db",
            "HOLDFAST_APP": APP,
            "PYTHONPATH": str(ROOT),
            "PATH": "/usr/bin:/bin",
        }

    def start(self, *words: str) -> subprocess.Popen[str]:
        db = ["--db", self.environment["HOLDFAST_DB"]]
        return subprocess.Popen(
            [str(PROGRAM), *db, *words],
            cwd=self.folder,
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *words: str) -> tuple[int, str, str]:
        process = self.start(*words)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err


@pytest.fixture
def here(tmp_path: Path) -> Here:
    made = Here(tmp_path)
    assert made.run("db", "migrate")[0] == 0
    return made


@pytest.mark.slow
def test_a_worker_works_until_it_is_told_to_stop(here: Here) -> None:
    worker = here.start("worker", APP, "-q", "default:3", "-q", "texts", "--concurrency", "2")
    try:
        code, out, err = here.run("run", "add", "-a", "a=41", "--wait", "--timeout", "30s")
        assert (code, out) == (0, "42\n"), err
        long = here.run("run", "count", "-a", "n=60", "-o", "ids")[1].strip()
        _until_leased(here, long)
        worker.send_signal(signal.SIGTERM)
        out, err = worker.communicate(timeout=30)
    finally:
        worker.kill()
    # It let the job end, said what it did on stderr, and left stdout alone.
    assert (worker.returncode, out) == (0, "")
    assert "queues default:3, texts, 2 at once" in err
    assert here.run("job", "wait", long, "--timeout", "0")[1] == "60\n"
    assert here.run("workers")[1] == ""


@pytest.mark.slow
def test_ctrl_c_while_waiting_detaches_and_never_cancels(here: Here) -> None:
    job_id = here.run("run", "add", "-a", "a=1", "-o", "ids")[1].strip()
    ways = (["job", "wait", job_id], ["job", "watch", job_id], ["run", "add", "-a", "a=2", "--wait"])
    processes = [here.start(*words) for words in ways]
    try:
        for waiting in processes:
            # Whatever it waits for, it says why nothing happens: then it is waiting for sure.
            assert waiting.stderr is not None
            line = waiting.stderr.readline()
            assert "no worker has claimed queue 'default'" in line
            waiting.send_signal(signal.SIGINT)
            out, err = waiting.communicate(timeout=30)
            assert (waiting.returncode, out) == (130, "")
            assert "detached: the job goes on; `holdfast job wait " in err
            assert "Traceback" not in err
    finally:
        for waiting in processes:
            waiting.kill()
    assert here.run("job", "list", "-o", "ids", "--state", "queued")[1].count("\n") == 2


def _until_leased(here: Here, job_id: str) -> None:
    with engine_on(here.environment["HOLDFAST_DB"]) as app:
        until(lambda: app.get_job(job_id).lease_owner)
