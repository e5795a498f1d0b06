"""Schedules: what is submitted by the clock."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from holdfast.api.access.keys import Scope
from holdfast.api.access.scopes import needs
from holdfast.api.deps import StoreDep
from holdfast.api.shapes.around import Schedule
from holdfast.api.shapes.jobs import Items
from holdfast.chores.scheduler import Scheduler
from holdfast.views.part_views import schedule_view

router = APIRouter(tags=["schedules"])


@router.get("/schedules", response_model=Items[Schedule])
@needs(Scope.READ)
async def list_of_schedules(store: StoreDep) -> dict[str, Any]:
    """Every schedule, with the time of its next tick."""
    return {"items": [schedule_view(row) for row in await Scheduler(store).list()]}
