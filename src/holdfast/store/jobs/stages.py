"""What jobs keep of their stages, read back: one step per stage, and one that lists them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from holdfast.store.database import Driver
from holdfast.store.jobs.applying import once
from holdfast.store.script import Query, Script
from holdfast.systems.pipeline.stages import Ran, StageResult, StageStatus

PLAN = "stages"
"""The step that lists a job's stages."""

LOOKED_AT = 2_000
"""How many of a pipeline's latest jobs a breaker looks at."""


def step_of(stage: str) -> str:
    """The step that a stage's end is kept as."""
    return f"stage:{stage}"


class Report(NamedTuple):
    """The stages of one job: their names in order, once it has begun, and the ends that are known."""

    plan: list[str]
    results: dict[str, StageResult]
    ended_at_ms: dict[str, int]


class Stages:
    """Reads, and the one write that decides who tries a stage that rests."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def _get(self, statement: str, /, **params: Any) -> list[Any]:
        return await self._driver.read(_one(statement, params))

    async def results(self, job_id: str) -> dict[str, tuple[StageResult, Any]]:
        """The stages of a job that are over, each with its output; None for one that has none."""
        found: dict[str, tuple[StageResult, Any]] = {}
        for step, text in await self._get("stage_results", job_id=job_id):
            name, data = step.partition(":")[2], json.loads(text)
            found[name] = StageResult.from_dict(name, data), data.get("output")
        return found

    async def reports(self, job_ids: Sequence[str]) -> dict[str, Report]:
        """By job; one that has not begun has an empty report."""
        reports = {job_id: Report([], {}, {}) for job_id in job_ids}
        ids = self._driver.dialect.array(list(job_ids))
        for job_id, step, _, at_ms, text in await self._get("stage_reports", ids=ids):
            report = reports[str(job_id)]
            if step == PLAN:
                report.plan.extend(json.loads(text))
                continue
            name = step.partition(":")[2]
            report.results[name] = StageResult.from_dict(name, json.loads(text))
            report.ended_at_ms[name] = at_ms
        return reports

    async def history(self, task: str, stage: str, limit: int) -> list[Ran]:
        """How a stage ended lately in all jobs of its pipeline, newest first."""
        rows = await self._get("stage_history", task=task, name=step_of(stage), jobs=LOOKED_AT, limit=limit)
        return [Ran(at_ms, status == StageStatus.FAILED) for at_ms, status in rows]

    async def tries(self, trial: str, job_id: str) -> bool:
        """Whether this job is the one that makes a trial: the first to ask is, and stays it."""
        script = once(self._driver.dialect, trial, _same(job_id), str, str)
        first = await self._driver.write(script)
        return bool(first == job_id)


def _one(name: str, params: dict[str, Any]) -> Script[list[Any]]:
    rows = yield Query(name, params)
    return rows


def _same(value: str) -> Script[str]:
    yield from ()
    return value
