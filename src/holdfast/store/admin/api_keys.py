"""Keys to the HTTP API, in their table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.kernel.payload.encoding import plain
from holdfast.store.database import now_of
from holdfast.store.port import KeyRow
from holdfast.store.script import rows_of

if TYPE_CHECKING:
    from holdfast.store.database import Driver


class SqlApiKeys:
    """See `holdfast.store.port.ApiKeys`."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def add(self, row: KeyRow) -> None:
        plain("name", row.name)
        await self._driver.write(rows_of("add_api_key", row._asdict()), single=True)

    async def live(self, key_id: str) -> KeyRow | None:
        rows = await self._driver.read(rows_of("live_api_key", {"id": key_id, "now_ms": self._driver.dialect.now()}))
        return _row(rows[0]) if rows else None

    async def list(self) -> list[KeyRow]:
        return [_row(row) for row in await self._driver.read(rows_of("api_keys", {}))]

    async def any_live(self) -> bool:
        now_ms = await now_of(self._driver)
        return any(row.is_live(now_ms) for row in await self.list())

    async def revoke(self, key_id: str) -> KeyRow | None:
        params = {"id": key_id, "now_ms": await now_of(self._driver)}
        rows = await self._driver.write(rows_of("revoke_api_key", params), single=True)
        return _row(rows[0]) if rows else None

    async def expire(self, key_id: str, after_ms: int) -> KeyRow | None:
        params = {"id": key_id, "at_ms": await now_of(self._driver) + after_ms}
        rows = await self._driver.write(rows_of("expire_api_key", params), single=True)
        return _row(rows[0]) if rows else None

    async def used(self, key_id: str) -> None:
        params = {"id": key_id, "now_ms": self._driver.dialect.now()}
        await self._driver.write(rows_of("use_api_key", params), single=True)


def _row(row: Any) -> KeyRow:
    found = KeyRow._make(row)
    return found._replace(hash=bytes(found.hash))
