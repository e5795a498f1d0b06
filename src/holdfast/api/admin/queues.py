"""Queues and their backlogs."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from holdfast.api.access.keys import Scope
from holdfast.api.access.scopes import needs
from holdfast.api.deps import StoreDep
from holdfast.api.shapes.around import Queue
from holdfast.api.shapes.jobs import Items
from holdfast.views.queues import queue_view, queues

router = APIRouter(tags=["queues"])


@router.get("/queues", response_model=Items[Queue])
@needs(Scope.READ)
async def list_of_queues(store: StoreDep) -> dict[str, Any]:
    """Queues that have jobs, workers or a pause."""
    return {"items": [queue_view(queue) for queue in await queues(store)]}
