"""Steps that the jobs of pipelines keep for their stages, read back as they were written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from holdfast.store.database import Driver
from holdfast.store.jobs.applying import once
from holdfast.store.script import Query, Script

PLAN = "stages"
"""The step that lists a job's stages."""

LOOKED_AT = 2_000
"""How many of a pipeline's latest jobs a breaker looks at."""


def step_of(stage: str) -> str:
    """The step that a stage's end is kept as."""
    return f"stage:{stage}"


class StagesKept(NamedTuple):
    """The stages of one job: the names in order, once it has begun, and those ends that are known, with their times."""

    plan: list[str]
    ends: dict[str, Any]
    ended_at_ms: dict[str, int]


class StageSteps:
    """Reads, and the one write that decides who tries a stage that rests."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def _get(self, statement: str, /, **params: Any) -> list[Any]:
        return await self._driver.read(_one(statement, params))

    async def ends(self, job_id: str) -> dict[str, Any]:
        """By name, what the stages of a job that are over ended with."""
        found = await self._get("stage_results", job_id=job_id)
        return {step.partition(":")[2]: json.loads(text) for step, text in found}

    async def of_jobs(self, job_ids: Sequence[str]) -> dict[str, StagesKept]:
        """By job; of one that has not begun, nothing."""
        found = {job_id: StagesKept([], {}, {}) for job_id in job_ids}
        ids = self._driver.dialect.array(list(job_ids))
        for job_id, step, _, at_ms, text in await self._get("stage_reports", ids=ids):
            kept = found[str(job_id)]
            if step == PLAN:
                kept.plan.extend(json.loads(text))
                continue
            name = step.partition(":")[2]
            kept.ends[name] = json.loads(text)
            kept.ended_at_ms[name] = at_ms
        return found

    async def history(self, task: str, stage: str, limit: int) -> list[tuple[int, str]]:
        """When a stage ended lately, and how, in all jobs of its pipeline, newest first."""
        rows = await self._get("stage_history", task=task, name=step_of(stage), jobs=LOOKED_AT, limit=limit)
        return [(at_ms, status) for at_ms, status in rows]

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
