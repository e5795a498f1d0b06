"""The store as a whole."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

from holdfast.files.port import Files
from holdfast.kernel.errors import StoreError
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.store.port.admin import Admin
from holdfast.store.port.graph import Graph
from holdfast.store.port.jobs import Jobs
from holdfast.store.port.kept import Kept
from holdfast.store.port.log import Log
from holdfast.store.port.reads import Reads
from holdfast.store.port.upkeep import Upkeep
from holdfast.store.port.wakeups import Wakeups

P = TypeVar("P")
T = TypeVar("T")


class Schema(NamedTuple):
    """Which migrations a database has, which it lacks, and which nobody here knows."""

    applied: list[str]
    pending: list[str]
    unknown: list[str]
    early: bool = False
    """Whether the unknown ones are from before the first release."""

    def refusal(self) -> StoreError | None:
        """Why this version cannot use the database, whatever is done to it; None when it can."""
        names = ", ".join(self.unknown)
        if self.early:
            return StoreError(
                f"this database is older than any release, and has only a part of what came before: {names}",
                remedy="run `holdfast db migrate` of the last version before 0.1.0, or start with a new database",
            )
        if self.unknown:
            return StoreError(
                f"this database is newer than this Holdfast, it has migrations of a later version: {names}",
                remedy="use the version of Holdfast that made them, or a later one",
            )
        return None

    def refuse_unknown(self) -> None:
        if refusal := self.refusal():
            raise refusal


class Planned(NamedTuple):
    """A migration that a database lacks: what it would move, and for about how long."""

    name: str
    jobs: int
    events: int
    about_s: int


class Store(Protocol):
    """Jobs and events, the only writer of both. `holdfast.testing.store_conformance` holds every store to it.

    Every call is a batch and one transaction: it takes effect as a whole or not at all. Time is the store's:
    the database's clock on PostgreSQL, the process's on SQLite, or the clock that a test moves.
    """

    @property
    def jobs(self) -> Jobs: ...
    @property
    def files(self) -> Files:
        """Where the bytes are that rows name."""
        ...

    @property
    def kept(self) -> Kept: ...
    @property
    def graph(self) -> Graph: ...
    @property
    def upkeep(self) -> Upkeep: ...
    @property
    def admin(self) -> Admin: ...
    @property
    def reads(self) -> Reads: ...
    @property
    def log(self) -> Log: ...
    @property
    def wakeups(self) -> Wakeups: ...

    @property
    def tables(self) -> Mapping[str, Lifecycle]:
        """The lifecycles that jobs can be given here: the built-in ones, and those that were registered."""
        ...

    def part(self, kind: type[P]) -> P:
        """A system's own tables: an object of this class, over the same database."""
        ...

    async def migrate(self) -> list[str]:
        """Bring the schema up to date and return the names of the migrations that were applied."""
        ...

    async def plan(self) -> list[Planned]:
        """What `migrate` would apply, by reading alone."""
        ...

    async def schema(self) -> Schema:
        """How the database's schema stands, by reading alone."""
        ...

    @property
    def wait(self) -> Callable[[Coroutine[Any, Any, T]], T] | None:
        """Run one call of this store in the thread that asks, without a loop; None where that cannot be."""
        ...

    async def close(self) -> None:
        """Let running calls end, then close every connection."""
        ...

    async def now_ms(self) -> int:
        """The store's time, in milliseconds since 1970."""
        ...

    async def register(self, lifecycle: Lifecycle) -> None:
        """Make a lifecycle known here, and keep its table in the database so that an audit needs no code."""
        ...

    async def table(self, name: str) -> Lifecycle:
        """The lifecycle of this name: known here, or kept in the database. NotFoundError for any other."""
        ...
