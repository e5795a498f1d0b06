"""Queues and their backlogs: paused, so that no worker claims from them, and resumed."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.responses import Response

from holdfast.api.access.keys import Scope
from holdfast.api.access.scopes import needs
from holdfast.api.deps import StoreDep
from holdfast.api.jobs.idempotency import OnceDep, Reply, reply
from holdfast.api.problems.kinds import Problem
from holdfast.api.shapes.around import Queue
from holdfast.api.shapes.bodies import UNSTORABLE, Why
from holdfast.api.shapes.change import QueuePaused, QueueResumed
from holdfast.api.shapes.jobs import Items
from holdfast.views.job import iso
from holdfast.views.queues import queue_view, queues

router = APIRouter(tags=["queues"])
Name = Annotated[str, Path(min_length=1, max_length=200)]


@router.get("/queues", response_model=Items[Queue])
@needs(Scope.READ)
async def list_of_queues(store: StoreDep) -> dict[str, Any]:
    """Queues that have jobs, workers or a pause."""
    return {"items": [queue_view(queue) for queue in await queues(store)]}


@router.post("/queues/{name}/pause", responses={200: {"model": QueuePaused}})
@needs(Scope.ADMIN)
async def pause(name: Name, once: OnceDep, body: Why | None = None) -> Response:
    """Let no worker claim from a queue; what runs goes on. One that is paused stays so since it was."""
    _storable(name)

    async def pause() -> Reply:
        operating = once.store.admin.queues
        await operating.pause(name, body.reason if body else None)
        pause = (await operating.pauses()).get(name)
        pause_view = {"reason": pause.reason, "since": iso(pause.at_ms)} if pause else {"reason": None, "since": None}
        return reply(200, {"queue": name, "paused": True, **pause_view})

    return await once.several(pause)


@router.post("/queues/{name}/resume", responses={200: {"model": QueueResumed}})
@needs(Scope.ADMIN)
async def resume(name: Name, once: OnceDep, body: Why | None = None) -> Response:
    """Let workers claim from a queue again. `was_paused` says whether they could not."""
    _storable(name)

    async def resume() -> Reply:
        was_paused = await once.store.admin.queues.unpause(name)
        return reply(200, {"queue": name, "paused": False, "was_paused": was_paused})

    return await once.several(resume)


def _storable(name: str) -> None:
    if UNSTORABLE.search(name):
        raise Problem("invalid_parameter", "the name contains a character that cannot be stored", field="name")
