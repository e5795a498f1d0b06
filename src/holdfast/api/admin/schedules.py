"""Schedules, what is submitted by the clock: held, resumed, run at once, forgotten."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from holdfast.api.access.keys import Scope
from holdfast.api.access.scopes import needs
from holdfast.api.deps import CallerDep, StoreDep
from holdfast.api.jobs.idempotency import Once, OnceDep, Reply, reply
from holdfast.api.jobs.replies import job_answer
from holdfast.api.problems.kinds import missing
from holdfast.api.shapes.around import Schedule
from holdfast.api.shapes.bodies import UNSTORABLE, Why
from holdfast.api.shapes.change import ScheduleChanged, ScheduleDeleted
from holdfast.api.shapes.forms import origin_of
from holdfast.api.shapes.jobs import Items, Job
from holdfast.chores.scheduler import Scheduler, spec_of
from holdfast.store.port import Ask, Facts
from holdfast.views.job import iso
from holdfast.views.part_views import schedule_view

router = APIRouter(tags=["schedules"])


@router.get("/schedules", response_model=Items[Schedule])
@needs(Scope.READ)
async def list_of_schedules(store: StoreDep) -> dict[str, Any]:
    """Every schedule, with the time of its next tick."""
    return {"items": [schedule_view(row) for row in await Scheduler(store).list()]}


@router.post("/schedules/{name}/pause", responses={200: {"model": ScheduleChanged}})
@needs(Scope.ADMIN)
async def pause(name: str, once: OnceDep, body: Why | None = None) -> Response:
    """Hold a schedule: nothing is submitted until it is resumed, and nothing made up then."""
    return await _change(once, name, Scheduler(once.store).pause)


@router.post("/schedules/{name}/resume", responses={200: {"model": ScheduleChanged}})
@needs(Scope.ADMIN)
async def resume(name: str, once: OnceDep, body: Why | None = None) -> Response:
    """Let a held schedule go on, from now."""
    return await _change(once, name, Scheduler(once.store).resume)


@router.post("/schedules/{name}/run", status_code=201, responses={201: {"model": Job}})
@needs(Scope.WRITE)
async def run(request: Request, name: str, once: OnceDep, caller: CallerDep) -> Response:
    """Submit one job of a schedule now, beside its ticks."""
    _storable(name)
    origin = origin_of(request, caller)

    async def make(ask: Ask) -> Facts:
        spec = spec_of(await Scheduler(once.store).get(name), None)
        spec = spec._replace(actor=origin.actor, correlation_id=origin.correlation_id)
        return await once.store.jobs.make([spec._replace(trace_id=origin.trace_id or spec.trace_id)], ask)

    return await once.run(make, lambda done: job_answer(done, done.one.job_id, once.store.tables, 201))


@router.delete("/schedules/{name}", responses={200: {"model": ScheduleDeleted}})
@needs(Scope.ADMIN)
async def remove(name: str, once: OnceDep) -> Response:
    """Forget a schedule; its jobs stay. A process that declares it brings it back."""
    _storable(name)

    async def remove() -> Reply:
        await Scheduler(once.store).remove(name)
        return reply(200, {"name": name, "deleted": True})

    return await once.several(remove)


async def _change(once: Once, name: str, change: Callable[[str], Awaitable[None]]) -> Response:
    _storable(name)

    async def run() -> Reply:
        await change(name)
        row = await Scheduler(once.store).get(name)
        next_at = None if row.paused else iso(row.next_tick_ms)
        return reply(200, {"name": name, "task": row.task, "paused": row.paused, "next_at": next_at})

    return await once.several(run)


def _storable(name: str) -> None:
    if UNSTORABLE.search(name):
        raise missing("schedule", name, "GET /api/schedules lists those that there are", field="name")
