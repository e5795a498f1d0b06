"""The routers of the API: the only list of them. Each is served under /api, but for health."""

from __future__ import annotations

from functools import cache

from fastapi import APIRouter

from holdfast.api import (
    batch,
    dead,
    flows,
    flows_change,
    health,
    job_parts,
    job_stream,
    jobs_bulk,
    jobs_change,
    jobs_create,
    jobs_read,
    lifecycles,
    me,
    pipeline_stream,
    pipelines,
    queues,
    queues_change,
    schedules,
    schedules_change,
    stats,
    stream,
    tasks,
    workers,
)

ROUTERS: tuple[APIRouter, ...] = (
    jobs_create.router,
    batch.router,
    jobs_bulk.router,
    jobs_change.router,
    jobs_read.router,
    job_parts.router,
    job_stream.router,
    stream.router,
    dead.router,
    queues.router,
    queues_change.router,
    workers.router,
    lifecycles.router,
    tasks.router,
    schedules.router,
    schedules_change.router,
    pipelines.router,
    pipeline_stream.router,
    flows.router,
    flows_change.router,
    stats.router,
    me.router,
)


@cache
def served() -> APIRouter:
    """All routes, each at its path. Made once: what the framework works out of them is the same for every application,
    and takes longer than all else that an application is made of.
    """
    router = APIRouter()
    for part in ROUTERS:
        router.include_router(part, prefix="/api")
    router.include_router(health.router)
    return router
