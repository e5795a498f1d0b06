"""Workers, and what they hold."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from holdfast.api.access.keys import Scope
from holdfast.api.access.scopes import needs
from holdfast.api.deps import StoreDep
from holdfast.api.shapes.around import Lease, Worker
from holdfast.api.shapes.jobs import Items
from holdfast.views.queues import lease_view, worker_view

MOST_LEASES = 5_000

router = APIRouter(tags=["workers"])


@router.get("/workers", response_model=Items[Worker])
@needs(Scope.READ)
async def list_of_workers(
    store: StoreDep,
    all: Annotated[bool, Query(description="Those too that were not seen for a while.")] = False,
) -> dict[str, Any]:
    """Workers that are alive, the last seen first."""
    now_ms = await store.now_ms()
    views = [worker_view(worker, now_ms) for worker in await store.admin.workers.list()]
    return {"items": [view for view in views if all or view["alive"]]}


@router.get("/leases", response_model=Items[Lease])
@needs(Scope.READ)
async def list_of_leases(store: StoreDep, limit: Annotated[int, Query(ge=1, le=MOST_LEASES)] = 100) -> dict[str, Any]:
    """Who holds which job, the lease that ends first at the head."""
    now_ms = await store.now_ms()
    return {"items": [lease_view(job, now_ms) for job in await store.admin.queues.leases(limit=limit)]}
