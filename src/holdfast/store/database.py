"""What drives a database: it runs scripts, and wakes who waits for what they write."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeVar

from holdfast.store.dialect import Dialect
from holdfast.store.script import Script

T = TypeVar("T")


class Driver(Protocol):
    """Runs scripts. A write is one transaction; so is a read, on a connection of its own."""

    @property
    def dialect(self) -> Dialect: ...

    async def write(self, script: Script[T], *, single: bool = False, urgent: bool = False) -> T:
        """Run a script as one transaction. `single` promises that it yields one statement; `urgent` goes first."""
        ...

    async def read(self, script: Script[T]) -> T: ...

    async def run_ddl(self, text: str, name: str) -> bool:
        """Run one migration and record its name, both or neither; False when a rival was first."""
        ...

    async def close(self) -> None: ...


class Bell(Protocol):
    """Wakes workers of other processes. A hint: nothing depends on it."""

    async def announce(self) -> None:
        """Tell listeners that there is something to claim."""
        ...

    async def listen(self, wake: Callable[[], None]) -> None:
        """Call `wake` when something may have changed, until cancelled."""
        ...


class Silence:
    """No bell: whoever waits looks again after a while."""

    async def announce(self) -> None:
        return

    async def listen(self, wake: Callable[[], None]) -> None:
        await asyncio.Event().wait()
