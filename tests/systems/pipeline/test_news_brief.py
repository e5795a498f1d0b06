"""The reference pipeline, from files to a brief."""

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.testing import drain, temporary_engine

ROOT = Path(__file__).resolve().parents[3]
FIRST = ["ingest", "classify", "neutralize", "brief", "summary"]


@pytest.fixture(scope="module")
def news() -> Any:
    return importlib.import_module("examples.news_brief.pipeline")


def ran(news: Any, **settings: Any) -> tuple[str, dict[str, str], dict[str, Any]]:
    with temporary_engine(news.app) as app:
        job = news.pipe.submit(**settings)
        drain(app)
        stages = {stage["name"]: stage["status"] for stage in job.stages()}
        outcome = job.show()
        return outcome["state"], stages, outcome["result"] or {}


@pytest.mark.rule("P05")
@pytest.mark.parametrize("evaluate", [False, True])
@pytest.mark.parametrize("optimize", [False, True])
def test_the_stages_and_which_of_them_run(news: Any, evaluate: bool, optimize: bool) -> None:
    state, stages, made = ran(news, enable_evaluation=evaluate, enable_auto_optimize=optimize)
    assert list(stages) == [*FIRST, "evaluation", "optimization"]
    assert [stages[name] for name in FIRST] == ["completed"] * 5
    assert stages["evaluation"] == ("completed" if evaluate else "skipped")
    assert stages["optimization"] == ("completed" if evaluate and optimize else "skipped")
    assert state == "COMPLETED"
    assert set(made["brief"]) == {"economy", "politics", "science", "sports"}
    if evaluate and optimize:
        assert made["optimization"]["score"] >= made["evaluation"]["score"], "no length is worse than the best"


@pytest.mark.rule("P09")
def test_optimization_without_evaluation_is_skipped(news: Any) -> None:
    state, stages, made = ran(news, enable_auto_optimize=True)
    assert (stages["evaluation"], stages["optimization"]) == ("skipped", "skipped")
    assert "optimization" not in made
    assert state == "COMPLETED"


def test_loaded_words_are_gone(news: Any) -> None:
    wording = importlib.import_module("examples.news_brief.wording")
    _, _, made = ran(news, per_topic=5)
    articles = [f"{article['title']} {article['text']}" for article in made["ingest"]]
    assert sum(len(wording.loaded_in(text)) for text in articles) >= 8
    assert [line for lines in made["brief"].values() for line in lines if wording.loaded_in(line)] == []


def test_items_without_title_or_text_are_told_and_the_rest_goes_on(news: Any) -> None:
    state, stages, made = ran(news, feeds=["harbour", "broken"])
    assert (state, stages["ingest"], stages["brief"]) == ("PARTIAL", "partial", "completed")
    assert [article["id"] for article in made["ingest"]] == [f"harbour/h{n}" for n in range(1, 5)] + ["broken/b3"]


def test_a_feed_that_is_not_there_fails_the_run_at_once(news: Any) -> None:
    state, stages, _ = ran(news, feeds=["nowhere"])
    assert (state, stages["ingest"], stages["classify"]) == ("FAILED", "failed", "skipped")


@pytest.mark.slow
def test_it_runs_by_itself(tmp_path: Path) -> None:
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "examples.news_brief", "--evaluate", "--optimize"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("12 stories on economy, politics, science, sports\n")
    assert "optimization: per_topic" in done.stdout
