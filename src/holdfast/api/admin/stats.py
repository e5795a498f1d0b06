"""Figures: how much there is, and how fast it goes."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from holdfast.api.access.keys import Scope
from holdfast.api.access.scopes import needs
from holdfast.api.deps import StoreDep
from holdfast.api.shapes.around import Stats
from holdfast.views.statistics import statistics

router = APIRouter(tags=["stats"])


@router.get("/stats", response_model=Stats)
@needs(Scope.READ)
async def stats(store: StoreDep) -> dict[str, Any]:
    """Jobs by lifecycle and state, queues, and what happened in the last minute. What is not `exact` is a minimum."""
    return await statistics(store)
