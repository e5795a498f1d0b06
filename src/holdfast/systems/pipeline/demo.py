"""A pipeline in the demo: an edition, without its crossword."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from holdfast.runtime.inside import Inside
from holdfast.systems.pipeline.declare.pipeline import Pipeline, PipelineHandle


@dataclass(frozen=True)
class Edition:
    day: str
    with_crossword: bool = False


def part(app: Inside, queue: str) -> Callable[[], dict[str, PipelineHandle]]:
    edition = Pipeline(app, "edition", Edition, single=False, options={"queue": queue, "lease": "2s"})

    @edition.stage
    def ingest(config: Edition) -> list[str]:
        time.sleep(0.4)
        return [f"{story}, {config.day}" for story in ("flood", "election", "cup final")]

    @edition.stage
    def brief(ingest: list[str]) -> str:
        time.sleep(0.4)
        return f"{len(ingest)} stories"

    @edition.stage(enabled="with_crossword")
    def crossword() -> str:
        return "6 across"

    return lambda: {"make the edition": edition.submit(day="16 November")}
