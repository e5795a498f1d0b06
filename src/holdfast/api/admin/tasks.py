"""Tasks: what this server can be asked to do."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from holdfast.api.access.keys import Scope
from holdfast.api.access.scopes import needs
from holdfast.api.deps import EngineDep
from holdfast.api.shapes.around import Task
from holdfast.api.shapes.jobs import Items
from holdfast.views.part_views import task_view

router = APIRouter(tags=["tasks"])


@router.get("/tasks", response_model=Items[Task])
@needs(Scope.READ)
async def list_of_tasks(engine: EngineDep) -> dict[str, Any]:
    """The tasks that are declared here, by name, with a JSON Schema of their arguments."""
    return {"items": sorted(map(task_view, engine.registry), key=lambda view: str(view["name"]))}
