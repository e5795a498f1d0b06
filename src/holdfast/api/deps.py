"""What routes ask for: the engine, its store, and who calls."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from holdfast.api.access.keys import Caller
from holdfast.runtime.inside import Inside
from holdfast.store.port import Store


# Asynchronous, although they wait for nothing: the framework would run them in a thread each otherwise.
async def _engine(request: Request) -> Inside:
    engine: Inside = request.app.state.engine
    return engine


async def _store(request: Request) -> Store:
    return await (await _engine(request)).opened()


async def _caller(request: Request) -> Caller:
    caller: Caller = request.state.caller
    return caller


EngineDep = Annotated[Inside, Depends(_engine)]
"""The engine. The route runs in its loop: await its store, never its blocking calls."""

StoreDep = Annotated[Store, Depends(_store)]
"""The engine's store, opened and brought up to date."""

CallerDep = Annotated[Caller, Depends(_caller)]
"""Who calls, and with which scopes: the doors have let them in."""
