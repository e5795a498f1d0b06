"""Who calls, as the server sees it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from holdfast.api.access.keys import Scope
from holdfast.api.access.scopes import needs
from holdfast.api.deps import CallerDep
from holdfast.api.settings import is_loopback
from holdfast.api.shapes.around import Me

router = APIRouter(tags=["me"])


@router.get("/me", response_model=Me)
@needs(Scope.READ)
async def me(request: Request, caller: CallerDep) -> dict[str, Any]:
    """The caller's name and scopes."""
    client = request.client
    return {
        "name": caller.name,
        "scopes": [scope.value for scope in Scope if scope in caller.scopes],
        "key_id": caller.key_id,
        "loopback": client is not None and is_loopback(client.host),
    }
