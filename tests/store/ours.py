"""One of our databases, as the conformance suite wants it, and ways to make its stores worse than they are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import asyncpg

from holdfast.catalog import KNOWN
from holdfast.kernel.job import Spec
from holdfast.store.open import asubmit_in
from holdfast.store.port import Store
from tests.store.scenes import Clock

Opener = Callable[[], AbstractAsyncContextManager[Store]]


class Ours:
    """One of our databases, as the suite wants it; `spoil` makes its stores worse than they are."""

    def __init__(self, opener: Opener, clock: Clock, dsn: str | None) -> None:
        self._opener = opener
        self._clock = clock
        self._dsn = dsn
        self.spoil: Callable[[Any], None] = lambda store: None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Store]:
        async with self._opener() as store:
            self.spoil(store)
            yield store
            await store.wakeups.close()  # type: ignore[attr-defined] # its driver is shared, and stays open

    def pass_ms(self, ms: int) -> None:
        self._clock.advance(ms)

    def late(self, specs: Sequence[Spec]) -> AbstractAsyncContextManager[None] | None:
        return None if self._dsn is None else self._late(self._dsn, specs)

    @asynccontextmanager
    async def _late(self, dsn: str, specs: Sequence[Spec]) -> AsyncIterator[None]:
        connection = await asyncpg.connect(dsn)
        try:
            async with connection.transaction():
                await asubmit_in(connection, specs, KNOWN)
                yield
        finally:
            await connection.close()

    def worsen(self, part: str, worse: type[Spoilt]) -> None:
        """From now on this part of each store is as that says."""
        self.spoil = lambda store: setattr(store, part, worse(getattr(store, part), store))


class Spoilt:
    """A part of a store, but for what its subclass does instead."""

    def __init__(self, part: Any, store: Any) -> None:
        self.part = part
        self.store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self.part, name)
