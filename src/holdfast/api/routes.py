"""The routers of the API, and those that systems bring. Each is served under /api, but for health."""

from __future__ import annotations

from functools import cache

from fastapi import APIRouter

from holdfast import catalog
from holdfast.api import health, me
from holdfast.api.access.scopes import RouteMap, bare
from holdfast.api.admin import (
    dead,
    lifecycles,
    queues,
    queues_change,
    schedules,
    schedules_change,
    stats,
    tasks,
    workers,
)
from holdfast.api.jobs import batch
from holdfast.api.jobs import bulk as jobs_bulk
from holdfast.api.jobs import change as jobs_change
from holdfast.api.jobs import create as jobs_create
from holdfast.api.jobs import events_stream as stream
from holdfast.api.jobs import parts as job_parts
from holdfast.api.jobs import read as jobs_read
from holdfast.api.jobs import stream as job_stream

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
)
BEHIND: tuple[APIRouter, ...] = (
    stats.router,
    me.router,
)


@cache
def served() -> APIRouter:
    """All routes, each at its path. Made once: what the framework works out of them is the same for every application,
    and takes longer than all else that an application is made of.
    """
    router = APIRouter()
    taken = {at for part in (*ROUTERS, *BEHIND) for at in _places(part)}

    def join(part: APIRouter) -> None:
        if twice := sorted(taken & _places(part)):
            method, path = twice[0]
            raise catalog.SystemRefusedError(f"{method} /api{path} is served already")
        taken.update(_places(part))
        router.include_router(part, prefix="/api")

    for part in ROUTERS:
        router.include_router(part, prefix="/api")
    catalog.brought("routes", join)
    for part in BEHIND:
        router.include_router(part, prefix="/api")
    router.include_router(health.router)
    return router


def _places(part: APIRouter) -> set[tuple[str, str]]:
    return {(method, bare(path)) for method, path, _ in RouteMap(part.routes).entries()}
