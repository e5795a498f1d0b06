"""What stands beside jobs: workers and what they hold, lifecycles, tasks, figures."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from holdfast.api.access.keys import Scope
from holdfast.api.access.scopes import needs
from holdfast.api.deps import EngineDep, StoreDep
from holdfast.api.problems.kinds import missing
from holdfast.api.shapes.around import Lease, Lifecycle, LifecycleLine, Stats, Task, Worker
from holdfast.api.shapes.jobs import Items
from holdfast.views.part_views import lifecycle_line, task_view
from holdfast.views.queues import lease_view, worker_view
from holdfast.views.statistics import statistics

MOST_LEASES = 5_000

router = APIRouter()
behind = APIRouter()
"""Behind the routes of systems."""


@router.get("/workers", tags=["workers"], response_model=Items[Worker])
@needs(Scope.READ)
async def list_of_workers(
    store: StoreDep,
    all: Annotated[bool, Query(description="Those too that were not seen for a while.")] = False,
) -> dict[str, Any]:
    """Workers that are alive, the last seen first."""
    now_ms = await store.now_ms()
    views = [worker_view(worker, now_ms) for worker in await store.admin.workers.list()]
    return {"items": [view for view in views if all or view["alive"]]}


@router.get("/leases", tags=["workers"], response_model=Items[Lease])
@needs(Scope.READ)
async def list_of_leases(store: StoreDep, limit: Annotated[int, Query(ge=1, le=MOST_LEASES)] = 100) -> dict[str, Any]:
    """Who holds which job, the lease that ends first at the head."""
    now_ms = await store.now_ms()
    return {"items": [lease_view(job, now_ms) for job in await store.admin.queues.leases(limit=limit)]}


@router.get("/lifecycles", tags=["lifecycles"], response_model=Items[LifecycleLine])
@needs(Scope.READ)
async def list_of_lifecycles(store: StoreDep) -> dict[str, Any]:
    """The built-in lifecycles, and those that were registered in this database."""
    tables = await store.reads.lifecycles()
    return {"items": [lifecycle_line(tables[name]) for name in sorted(tables)]}


@router.get("/lifecycles/{name}", tags=["lifecycles"], response_model=Lifecycle)
@needs(Scope.READ)
async def lifecycle(name: str, store: StoreDep) -> dict[str, Any]:
    """One lifecycle: its states, rows and policies."""
    tables = await store.reads.lifecycles()
    if name not in tables:
        raise missing("lifecycle", name, f"known: {', '.join(sorted(tables))}", field="name", allowed=sorted(tables))
    return tables[name].to_dict()


@router.get("/tasks", tags=["tasks"], response_model=Items[Task])
@needs(Scope.READ)
async def list_of_tasks(engine: EngineDep) -> dict[str, Any]:
    """The tasks that are declared here, by name, with a JSON Schema of their arguments."""
    return {"items": sorted(map(task_view, engine.registry), key=lambda view: str(view["name"]))}


@behind.get("/stats", tags=["stats"], response_model=Stats)
@needs(Scope.READ)
async def stats(store: StoreDep) -> dict[str, Any]:
    """Jobs by lifecycle and state, queues, and what happened in the last minute. What is not `exact` is a minimum."""
    return await statistics(store)
