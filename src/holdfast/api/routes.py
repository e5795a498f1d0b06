"""The routers of the API, and those that systems bring. Each is served under /api, but for health."""

from __future__ import annotations

from functools import cache

from fastapi import APIRouter

from holdfast import catalog
from holdfast.api import health, me
from holdfast.api.access.scopes import RouteMap, bare
from holdfast.api.admin import around, dead, queues, schedules
from holdfast.api.jobs import batch, bulk, change, create, events_stream, parts, read, stream

JOBS = (create, batch, bulk, change, read, parts, stream, events_stream)
ROUTERS: list[APIRouter] = [each.router for each in (*JOBS, dead, queues, around, schedules)]
BEHIND: list[APIRouter] = [around.behind, me.router]


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
