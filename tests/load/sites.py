"""Where a store is, in a form that another process can be told."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import uuid_utils

from holdfast.kernel.job import Spec
from holdfast.store.port import Store


class Site(NamedTuple):
    """A SQLite file or a PostgreSQL database."""

    kind: str
    address: str

    def open(
        self, *, clock: Callable[[], int] | None = None, connections: int = 1, synchronous: str = "NORMAL"
    ) -> Store:
        """NORMAL, because these tests kill processes, not machines: a dead process loses nothing by it."""
        if self.kind == "sqlite":
            from holdfast.store.sqlite.driver import open_sqlite

            return open_sqlite(self.address, clock=clock, synchronous=synchronous)
        from holdfast.store.postgres.driver import open_postgres

        return open_postgres(self.address, clock=clock, connections=connections)


def new_id() -> str:
    return str(uuid_utils.uuid7())


def specs(count: int, **fields: object) -> list[Spec]:
    return [Spec(new_id(), "durable", "work", **fields) for _ in range(count)]  # type: ignore[arg-type]


async def fill(store: Store, made: Iterable[Spec], batch: int = 1000) -> None:
    left = list(made)
    for start in range(0, len(left), batch):
        await store.jobs.submit(left[start : start + batch])
