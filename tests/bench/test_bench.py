"""The measurements measure: every contender does the work, in every phase, and the report says so."""

import asyncio
import json
from pathlib import Path

import pytest

from bench import report
from bench.meter import Reading, server_cpu_s
from bench.scenario import Scenario, scenarios
from bench.series import Series, cpu_ratio, run, speed_ratio
from bench.site import Ground, PostgresGround, SqliteGround
from bench.store import CONTENDERS
from bench.trial import trial
from tests.services.postgres import Server

TINY = [
    Scenario(6, 4, 5, steps=True),
    Scenario(6, 4, 6),
    Scenario(6, 4, 6, held=True),
    Scenario(6, 4, 6, result=True),
]


def run_tiny(ground: Ground, rounds: int) -> Series:
    return asyncio.run(run(ground, CONTENDERS[ground.store], TINY, rounds=rounds, limit_s=60, say=lambda text: None))


@pytest.fixture(scope="module")
def on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Series:
    return run_tiny(SqliteGround(tmp_path_factory.mktemp("bench"), "NORMAL"), rounds=2)


def check(series: Series, rounds: int) -> None:
    seen = {(phase.scenario, phase.name) for phase in series}
    steps = {(TINY[0], name) for name in ("submit", "claim", "finish")}
    assert seen == steps | {(scenario, name) for scenario in TINY[1:] for name in ("load", "drain")}
    for phase, readings in series.items():
        assert list(readings) == ["holdfast", "raw SQL"]
        for found in readings.values():
            assert [reading.jobs for reading in found] == [phase.scenario.jobs] * rounds
            assert all(reading.wall_s > 0 for reading in found)


def test_all_phases_on_sqlite(on_sqlite: Series) -> None:
    check(on_sqlite, rounds=2)


@pytest.mark.slow
def test_all_phases_on_postgres(postgres: Server) -> None:
    check(run_tiny(PostgresGround(postgres), rounds=1), rounds=1)


def test_a_drain_stops_when_its_time_is_up_and_counts_what_it_did(tmp_path: Path) -> None:
    ground = SqliteGround(tmp_path, "NORMAL")
    for entry in CONTENDERS["sqlite"].values():
        readings = asyncio.run(trial(ground, entry, Scenario(6, 2, 6), limit_s=0))
        assert readings["load"].jobs == 6
        assert readings["drain"].jobs < 6


def test_work_that_was_not_done_is_no_measurement(tmp_path: Path) -> None:
    class Boaster(CONTENDERS["sqlite"]["raw SQL"]):  # type: ignore[misc] # an entry is a class here
        async def drain(self, batch: int, jobs: int, until_s: float) -> int:
            return jobs

    with pytest.raises(AssertionError, match="6 jobs were finished and 0 are in the table"):
        asyncio.run(trial(SqliteGround(tmp_path, "NORMAL"), Boaster, Scenario(6, 2, 6), limit_s=60))


def test_the_servers_cpu_time_includes_its_children(postgres: Server) -> None:
    import psycopg

    before_s = server_cpu_s(postgres.pid)
    with psycopg.connect(postgres.dsn) as connection:
        connection.execute("SELECT count(*) FROM generate_series(1, 3000000)")
        during_s = server_cpu_s(postgres.pid)
    assert during_s > before_s
    assert server_cpu_s(postgres.pid) >= during_s


def test_ratios_compare_within_a_round() -> None:
    ours = [Reading(100, 1.0, 0.4, 0.1), Reading(100, 4.0, 0.4, 0.1), Reading(100, 2.0, 0.4, 0.1)]
    others = [Reading(100, 0.5, 0.1, 0.1), Reading(100, 2.0, 0.1, 0.1), Reading(100, 1.0, 0.1, 0.1)]
    assert speed_ratio(ours, others) == pytest.approx(0.5)
    assert cpu_ratio(ours, others) == pytest.approx(2.5)


def test_the_report_holds_every_phase_and_compares_a_held_snapshot(
    on_sqlite: Series, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from rich.console import Console

    monkeypatch.setattr(report, "RESULTS", tmp_path / "results")
    data = json.loads(report.write(on_sqlite, {"rounds": 2}, ["SQLite"]).read_text())
    assert len(data["phases"]) == len(on_sqlite)
    held, result = data["against_ourselves"]
    assert (held["scenario"], held["base"]) == ("6 queued, batch 4, snapshot held", "6 queued, batch 4")
    assert result["scenario"] == "6 queued, batch 4, with result"
    report.show(on_sqlite, Console(width=200))
    assert "raw SQL" in capsys.readouterr().out


def test_profiles_hold_both_batches_and_a_million_only_on_request() -> None:
    for quick in (True, False):
        chosen = scenarios(quick=quick, million=False, million_held=False)
        assert {1, 100} <= {scenario.batch for scenario in chosen if scenario.steps}
        assert max(scenario.queued for scenario in chosen) <= 100_000
        assert any(scenario.held for scenario in chosen)
    millions = scenarios(quick=True, million=True, million_held=True)[-3:]
    assert [(s.queued, s.held) for s in millions] == [
        (1_000_000, False),
        (1_000_000, False),
        (1_000_000, True),
    ]
