"""The comparison of workers measures: processes do the work, the database agrees, and nobody is left out in silence."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from bench import hand as hands
from bench import report, standings
from bench.arena import Arena, PostgresArena, SqliteArena
from bench.contest import Found, contest
from bench.environment import ENVIRONMENTS, LOCKS, Unavailable, base_python
from bench.hand import HandFailed, hand
from bench.meter import Reading, tree, tree_cpu_s, tree_peak_mb
from bench.race import Lap
from bench.races import Drain, Latency, OneByOne, Race, races
from bench.roster import OURS, ROSTER, Entrant, chosen
from tests.services.postgres import Server

US = [entrant for entrant in ROSTER if entrant.name == OURS]
TINY: list[Race] = [
    OneByOne(3, limit_s=30, rounds=1),
    Latency(3, pause_s=0.01),
    Drain(400, 2, load_s=30, limit_s=30, rounds=2),
]


@pytest.fixture(params=["sqlite", "postgres"])
def arena(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Arena]:
    if request.param == "sqlite":
        yield SqliteArena(tmp_path)
        return
    yield PostgresArena(request.getfixturevalue("postgres"))


def run(arena: Arena, entrants: list[Entrant], chosen_races: list[Race]) -> Found:
    return contest(arena, entrants, chosen_races, say=lambda text: None)


@pytest.mark.slow
def test_our_worker_does_every_race_on_both_stores(arena: Arena) -> None:
    found = run(arena, US, TINY)
    assert (found.failed, found.absent) == ({}, {})
    assert [phase for _, phase in found.laps] == ["one by one", "latency", "bulk", "drain"]
    one, latency, bulk, drain = (by_name[OURS] for by_name in found.laps.values())
    assert one[0].reading.jobs == 3
    assert len(latency[0].waits_ms) == 3
    assert all(0 < wait_ms < 30_000 for wait_ms in latency[0].waits_ms)
    assert [lap.reading.jobs for lap in bulk] == [400, 400]
    assert all(0 < lap.reading.jobs < 400 and lap.left == lap.twice == 0 for lap in drain)
    assert sum(lap.reading.client_cpu_s for lap in drain) > 0  # each is counted in hundredths of a second
    assert all(lap.peak_mb > 10 for lap in drain)


SCRIPT = """
from bench.peers.line import Peer, main

class Odd(Peer):
    package, left, in_loop = "pytest", "SELECT count(*) FROM job", False
    async def setup(self):
        import sqlite3
        sqlite3.connect(self.url.removeprefix("sqlite:///")).execute("CREATE TABLE job (id)")
    {more}

main(Odd)
"""


def odd(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, more: str) -> list[Entrant]:
    """A contender with faults, beside the real ones: run by this Python, from a folder of its own."""
    folder = tmp_path / "root" / "bench" / "peers"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent):
        (package / "__init__.py").write_text("")
    (folder / "line.py").write_text((LOCKS / "line.py").read_text())
    (folder / "odd.py").write_text(SCRIPT.replace("{more}", more))
    monkeypatch.setattr(hands, "ROOT", tmp_path / "root")
    monkeypatch.setattr("bench.contest.python_of", lambda entrant: Path(sys.executable))
    (tmp_path / "arena").mkdir()
    return [Entrant("odd", ("sqlite",), "none")]


def test_a_contender_that_enqueues_nothing_is_found_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    more = """
    async def open(self): pass
    async def enqueue(self, sent_ns): print("chatter")
    """
    found = run(SqliteArena(tmp_path / "arena"), odd(monkeypatch, tmp_path, more), TINY[:1])
    assert found.failed == {(TINY[0], "odd"): "enqueued 3 jobs, and 0 are in its tables"}
    assert found.laps == {}


def test_a_contender_that_breaks_is_reported_with_its_last_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    more = """
    async def open(self): raise ValueError("no such thing")
    """
    found = run(SqliteArena(tmp_path / "arena"), odd(monkeypatch, tmp_path, more), TINY[:1])
    assert found.failed == {(TINY[0], "odd"): "ended with 1: ValueError: no such thing"}


def test_a_contender_that_cannot_be_installed_is_in_the_report(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(entrant: Entrant) -> Path:
        raise Unavailable("needs Python 3.99 or later, and there is none on this machine")

    monkeypatch.setattr("bench.contest.python_of", refuse)
    found = run(SqliteArena(tmp_path), [Entrant("odd", ("sqlite",), "none")], TINY)
    standings.show(found, ROSTER, Console(width=200))
    assert "not run: odd: needs Python 3.99 or later" in capsys.readouterr().out


def test_a_python_that_is_not_there_is_said() -> None:
    assert base_python((3, 11)) == Path(sys.executable)
    with pytest.raises(Unavailable, match=r"needs Python 3\.99 or later"):
        base_python((3, 99))


def test_a_process_that_says_nothing_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    odd(monkeypatch, tmp_path, "async def open(self): __import__('time').sleep(60)")
    with (
        hand(Path(sys.executable), "odd", "enqueue", "sqlite:///x", 1, "one", 1) as process,
        pytest.raises(HandFailed, match="said nothing"),
    ):
        process.answer(0.1)


def test_a_worker_does_not_outlive_the_bench(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    more = """
    async def prepare(self, handle): pass
    async def work(self): __import__("time").sleep(60)
    """
    odd(monkeypatch, tmp_path, more)
    (tmp_path / "tally").write_bytes(bytes(8))
    command = [sys.executable, "-P", "-m", "bench.peers.odd", "work", "sqlite:///x", str(tmp_path / "tally")]
    pipe, environment = subprocess.PIPE, {**os.environ, "PYTHONPATH": str(hands.ROOT)}
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"ready\n"
        worker.stdin.write(b"go\n")
        worker.stdin.flush()
        worker.stdout.close()
        worker.stdin.close()
        assert worker.wait(20) == 0


def test_a_process_tree_is_measured_with_its_children() -> None:
    busy = "import os, time; os.fork()\nwhile time.process_time() < 0.2: pass\ntime.sleep(60)"  # by its own clock
    with subprocess.Popen([sys.executable, "-c", busy]) as process:
        try:
            until_s = time.monotonic() + 20
            while (cpu_s := tree_cpu_s(process.pid)) < 0.2 and time.monotonic() < until_s:
                time.sleep(0.02)
            pids = tree(process.pid)
            assert len(pids) == 2
            assert cpu_s >= 0.2
            assert tree_peak_mb(process.pid) > tree_peak_mb(pids[1]) > 1
        finally:
            for pid in reversed(tree(process.pid)):
                os.kill(pid, signal.SIGKILL)


def test_every_contender_has_a_script_and_a_lock_with_hashes() -> None:
    for entrant in ROSTER:
        assert (LOCKS / f"{entrant.name}.py").exists()
        if entrant.name != OURS:
            lock = (LOCKS / f"{entrant.name}.lock").read_text()
            pinned = [line for line in lock.splitlines() if "==" in line and not line.startswith(" ")]
            assert pinned
            assert all(line.endswith("\\") for line in pinned), "every pin needs its hashes"
    assert ENVIRONMENTS.name == ".envs"


def test_holdfast_always_runs_and_unknown_names_are_refused() -> None:
    assert [entrant.name for entrant in chosen(("huey",))] == [OURS, "huey"]
    assert chosen(()) == list(ROSTER)
    with pytest.raises(SystemExit, match="no contender celery"):
        chosen(("celery",))


def test_profiles() -> None:
    full = races(quick=False)
    assert {(race.queued, race.workers, race.settled) for race in full if isinstance(race, Drain)} == {
        (10_000, 1, True),
        (10_000, 2, True),
        (100_000, 1, True),
        (100_000, 2, True),
        (1_000_000, 1, False),
    }
    assert not any(isinstance(race, Drain) and race.queued > 10_000 for race in races(quick=True))


def lap(jobs: int, wall_s: float, *, queued: int | None = None, left: int = 0, twice: int = 0) -> Lap:
    return Lap(Reading(jobs, wall_s, jobs * 40e-6, jobs * 20e-6), queued or jobs, 50.0, left, twice)


def test_the_report_has_ratios_and_says_what_a_rate_hides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    race = Drain(1_000, 1, 1, 1)
    found = Found("sqlite", "SQLite", versions={OURS: "1", "huey": "2"}, failed={(race, "dbos"): "it broke"})
    slow = [lap(400, 1.0, queued=900, left=500, twice=7)]
    found.laps[race, "drain"] = {OURS: [lap(1_000, 1.0)], "huey": slow}
    standings.show(found, ROSTER, Console(width=200))
    out = capsys.readouterr().out
    assert "2.50" in out
    assert "900 enqueued in its time, 400 done in its time, 7 run again" in out
    assert "did not come through: dbos, 1,000 queued, 1 worker: it broke" in out
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    data = json.loads(standings.write([found], ROSTER).read_text())
    [phase] = data["stores"][0]["phases"]
    assert phase["laps"]["huey"][0]["reading"]["jobs"] == 400


def test_percentiles() -> None:
    ordered = [float(number) for number in range(1, 201)]
    assert standings.percentile(ordered, 0.5) == 101
    assert standings.percentile(ordered, 0.99) == 199
    assert standings.percentile([5.0], 0.99) == 5


def test_postgres_runs_with_its_defaults(postgres: Server) -> None:
    assert "fsync on" in PostgresArena(postgres).version
