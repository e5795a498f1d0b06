"""What drives a database: it runs scripts, and wakes who waits for what they write."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from holdfast.store.dialect import Dialect
from holdfast.store.script import Script, rows_of

T = TypeVar("T")


class Driver(Protocol):
    """Runs scripts. A write is one transaction; so is a read, on a connection of its own."""

    @property
    def dialect(self) -> Dialect: ...

    async def write(self, script: Script[T], *, single: bool = False, urgent: bool = False) -> T:
        """Run a script as one transaction; `urgent` goes first.

        With `single` only its first statement writes, and needs no transaction around it: what follows reads. A
        script that writes again is stopped with an error.
        """
        ...

    async def read(self, script: Script[T]) -> T: ...

    @property
    def wait(self) -> Callable[[Coroutine[Any, Any, Any]], Any] | None:
        """Run a call of a store in the thread that asks, without a loop; None where that cannot be."""
        ...

    async def run_ddl(self, text: str, name: str) -> bool:
        """Run one migration and record its name, both or neither; False when a rival was first."""
        ...

    async def announce(self) -> None:
        """Tell listeners in other processes that there is something to do."""
        ...

    async def listen(self, wake: Callable[[], None]) -> None:
        """Call `wake` when something may have changed, until cancelled."""
        ...

    async def close(self) -> None: ...


async def now_of(driver: Driver) -> int:
    """The database's time, in milliseconds since 1970."""
    now = driver.dialect.now()
    if now is not None:
        return now
    [(now_ms,)] = await driver.read(rows_of("clock", {"now_ms": None}))
    return int(now_ms)


async def is_there(driver: Driver, what: str, now_ms: int) -> bool:
    """A look before a write that mostly has nothing to do. A writer of SQLite that a handler keeps from the
    interpreter keeps all others waiting, renewals too: an idle worker had better not be one.
    """
    return bool(await driver.read(rows_of(what, {"now_ms": now_ms})))
