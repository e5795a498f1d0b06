"""The store that both databases share: the port's parts, over one driver."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from holdfast.catalog import KNOWN
from holdfast.files.port import Files
from holdfast.kernel.errors import NotFoundError
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.store.admin.admin import SqlAdmin
from holdfast.store.admin.api_keys import SqlApiKeys
from holdfast.store.admin.dead import SqlDeadLetters
from holdfast.store.admin.queues import SqlQueues, SqlWorkers
from holdfast.store.admin.schedules import SqlSchedules
from holdfast.store.blobs.chunks import Chunks
from holdfast.store.database import Driver, now_of
from holdfast.store.graph.graph import SqlGraph
from holdfast.store.jobs.admission import Admission
from holdfast.store.jobs.jobs import SqlJobs
from holdfast.store.jobs.kept import SqlKept
from holdfast.store.jobs.remembering import SqlAnswers
from holdfast.store.migrate import migrate, plan, schema_of
from holdfast.store.port import Planned, Schema
from holdfast.store.read.log import SqlLog
from holdfast.store.read.reads import SqlReads
from holdfast.store.script import rows_of
from holdfast.store.upkeep.upkeep import SqlUpkeep
from holdfast.store.wakeups import Rings

P = TypeVar("P")
T = TypeVar("T")


class SqlStore:
    """See `holdfast.store.port.Store`."""

    def __init__(self, driver: Driver, files: Files | None = None) -> None:
        self.driver = driver
        self.tables: dict[str, Lifecycle] = dict(KNOWN)
        admission = self._admission = Admission(self.tables)
        self.reads = SqlReads(driver, self.tables)
        self.log = SqlLog(driver)
        self.files = Chunks(driver) if files is None else files
        self.kept = SqlKept(driver, self.files)
        self.jobs = SqlJobs(driver, admission, self.reads)
        self.graph = SqlGraph(driver, admission)
        self.upkeep = SqlUpkeep(driver, self.tables)
        self.admin = SqlAdmin(
            SqlQueues(driver),
            SqlWorkers(driver),
            SqlSchedules(driver, admission),
            SqlApiKeys(driver),
            SqlDeadLetters(driver, self.reads.lifecycles),
            SqlAnswers(driver),
        )
        self.wakeups = Rings(driver)

    def part(self, kind: type[P]) -> P:
        return kind(self.driver)  # type: ignore[call-arg] # a part is made from what runs its scripts

    @property
    def wait(self) -> Callable[[Coroutine[Any, Any, T]], T] | None:
        return self.driver.wait

    async def migrate(self) -> list[str]:
        return await migrate(self.driver)

    async def plan(self) -> list[Planned]:
        return await plan(self.driver)

    async def schema(self) -> Schema:
        return await schema_of(self.driver)

    async def close(self) -> None:
        await self.wakeups.close()
        await self.driver.close()

    async def now_ms(self) -> int:
        return await now_of(self.driver)

    async def register(self, lifecycle: Lifecycle) -> None:
        self.know([lifecycle])
        definition = json.dumps(lifecycle.to_dict(), sort_keys=True)
        params = {"name": lifecycle.name, "definition": definition, "at_ms": await self.now_ms()}
        await self.driver.write(rows_of("register_lifecycle", params), single=True)

    async def table(self, name: str) -> Lifecycle:
        known = self.tables.get(name)
        if known is not None:
            return known
        stored = await self.reads.lifecycles()
        if name not in stored:
            raise NotFoundError("lifecycle", name, f"known here: {', '.join(sorted(stored))}")
        return stored[name]

    def know(self, lifecycles: Iterable[Lifecycle]) -> None:
        """Take jobs of these lifecycles, which another store on the same database has registered."""
        self.tables.update((table.name, table) for table in lifecycles)
        self._admission.changed()
