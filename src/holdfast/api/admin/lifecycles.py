"""Lifecycles: the tables that jobs follow."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from holdfast.api.access.keys import Scope
from holdfast.api.access.scopes import needs
from holdfast.api.deps import StoreDep
from holdfast.api.problems.kinds import missing
from holdfast.api.shapes.around import Lifecycle, LifecycleLine
from holdfast.api.shapes.jobs import Items
from holdfast.views.part_views import lifecycle_line

router = APIRouter(tags=["lifecycles"])


@router.get("/lifecycles", response_model=Items[LifecycleLine])
@needs(Scope.READ)
async def list_of_lifecycles(store: StoreDep) -> dict[str, Any]:
    """The built-in lifecycles, and those that were registered in this database."""
    tables = await store.reads.lifecycles()
    return {"items": [lifecycle_line(tables[name]) for name in sorted(tables)]}


@router.get("/lifecycles/{name}", response_model=Lifecycle)
@needs(Scope.READ)
async def lifecycle(name: str, store: StoreDep) -> dict[str, Any]:
    """One lifecycle: its states, rows and policies."""
    tables = await store.reads.lifecycles()
    if name not in tables:
        raise missing("lifecycle", name, f"known: {', '.join(sorted(tables))}", field="name", allowed=sorted(tables))
    return tables[name].to_dict()
