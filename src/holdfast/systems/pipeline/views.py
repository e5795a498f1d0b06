"""A pipeline's job as the outside sees it: the job's own shape, and its stages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from holdfast.kernel.errors import NotFoundError
from holdfast.kernel.job import Job
from holdfast.kernel.state import OVER, RANK
from holdfast.store.pipeline.stages import StagesKept, StageSteps
from holdfast.store.port import SignalRow, Store
from holdfast.views.job import iso, job_view

if TYPE_CHECKING:
    from holdfast.runtime.inside import Inside

View = dict[str, Any]


async def pipeline_view(engine: Inside, job_id: str) -> View:
    """One job with its stages; NotFoundError when there is none, or when it is of another kind."""
    store = await engine.opened()
    job = await pipeline_job(store, job_id)
    [view] = await pipeline_views(store, [job], declared_stages(engine, job.task))
    return view


async def pipeline_job(store: Store, job_id: str) -> Job:
    job = await store.reads.get(job_id.strip().lower())
    if job is None or job.lifecycle != "pipeline":
        raise NotFoundError("pipeline job", job_id, "holdfast pipeline list")
    return job


async def pipeline_views(store: Store, jobs: Sequence[Job], declared: Sequence[str] = ()) -> list[View]:
    """Jobs with their stages; `declared` are the stages of one that has not begun, as far as they are known here."""
    kept = await store.part(StageSteps).of_jobs([job.id for job in jobs]) if jobs else {}
    views = []
    for job in jobs:
        signals = await store.reads.signals(job.id) if RANK[job.state] < OVER else []
        view = job_view(job, store.tables.get(job.lifecycle), signals)
        views.append(view | {"stages": stages_view(job, kept[job.id], signals, declared)})
    return views


def declared_stages(engine: Inside, task: str) -> list[str]:
    """The names of a pipeline's stages as this process declares them; none when it does not."""
    from holdfast.systems.pipeline.declare.pipeline import Pipeline

    pipe = engine.registry.wholes(Pipeline).get(task)
    return [stage.name for stage in pipe.stages] if pipe else []


def stages_view(job: Job, kept: StagesKept, signals: Sequence[SignalRow], declared: Sequence[str]) -> list[View]:
    """Every stage in order. One that is not over is pending, running, or skipped when the job is over without it."""
    running = _running(job, kept, signals)
    names = [*kept.plan] or [*declared]
    names += [name for name in kept.ends if name not in names]
    return [_stage(job, name, kept, running if running and running["stage"] == name else None) for name in names]


def _stage(job: Job, name: str, kept: StagesKept, running: View | None) -> View:
    end = kept.ends.get(name)
    if end is not None:
        outside = {field: end[field] for field in ("status", "duration_ms", "metrics", "errors", "reason")}
        return {"name": name, **outside, "progress": None, "finished_at": iso(kept.ended_at_ms[name])}
    view: View = {"name": name, "status": "pending", "duration_ms": None, "metrics": {}, "errors": [], "reason": None}
    view |= {"progress": None, "finished_at": None}
    if RANK[job.state] >= OVER:
        return view | {"status": "skipped", "reason": "the job ended before it"}
    if running is None:
        return view
    if running.get("done") is not None:
        view["progress"] = {key: running.get(key) for key in ("done", "total", "eta_seconds")}
    return view | {"status": "running", "metrics": running.get("counters") or {}}


def _running(job: Job, kept: StagesKept, signals: Sequence[SignalRow]) -> View | None:
    """The stage that was last heard of in this attempt, with what it said, if it is not over."""
    if RANK[job.state] >= OVER:
        return None
    heard: View | None = None
    for signal in signals:
        if signal.attempt == job.attempt and signal.type in ("stage_start", "stage_progress") and signal.payload:
            heard = json.loads(signal.payload)
    return None if heard is None or heard["stage"] in kept.ends else heard
