"""The executors of one worker, by the names that works ask for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pkgutil import resolve_name

from holdfast.executors.port import Executor, Site
from holdfast.kernel.errors import NotFoundError


class Executors:
    """Each is made when its first run comes. `paths` says where they are, as "module:factory"."""

    def __init__(self, paths: Mapping[str, str], site: Site) -> None:
        self._paths = paths
        self._site = site
        self._made: dict[str, Executor] = {}

    def of(self, name: str) -> Executor:
        return self._made.get(name) or self._make(name)

    def _make(self, name: str) -> Executor:
        if name not in self._paths:
            raise NotFoundError("executor", name, f"there are: {', '.join(self._paths)}")
        factory: Callable[[Site], Executor] = resolve_name(self._paths[name])
        made = self._made[name] = factory(self._site)
        return made

    async def close(self, grace_s: float) -> None:
        await asyncio.gather(*(executor.close(grace_s) for executor in self._made.values()))
