"""Keys to the HTTP API, as they are kept: a digest of the secret, never the secret."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.store.jobs.admission import plain
from holdfast.store.script import Query, Script

if TYPE_CHECKING:
    from holdfast.store.sql_store import SqlStore


class KeyRow(NamedTuple):
    """One key. It opens nothing once it is revoked, or when its time is over."""

    id: str
    name: str
    hash: bytes
    scope: str
    created_at_ms: int
    expires_at_ms: int | None = None
    revoked_at_ms: int | None = None
    last_used_at_ms: int | None = None

    def is_live(self, now_ms: int) -> bool:
        return self.revoked_at_ms is None and (self.expires_at_ms is None or self.expires_at_ms > now_ms)


class ApiKeys:
    """Reads and writes of keys on any store."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store
        self._driver = store.driver

    async def add(self, row: KeyRow) -> None:
        plain("name", row.name)
        await self._driver.write(_one("add_api_key", row._asdict()), single=True)

    async def live(self, key_id: str) -> KeyRow | None:
        """The key, if it opens anything now. Asked of the database each time: a revocation holds at once."""
        rows = await self._driver.read(_one("live_api_key", {"id": key_id, "now_ms": self._store.dialect.now()}))
        return _row(rows[0]) if rows else None

    async def list(self) -> list[KeyRow]:
        """All of them, the newest first; revoked and expired ones too."""
        return [_row(row) for row in await self._driver.read(_one("api_keys", {}))]

    async def any_live(self) -> bool:
        now_ms = await self._store.now_ms()
        return any(row.is_live(now_ms) for row in await self.list())

    async def revoke(self, key_id: str) -> KeyRow | None:
        """The key as it is now; None when there is none. Twice is as once."""
        params = {"id": key_id, "now_ms": await self._store.now_ms()}
        rows = await self._driver.write(_one("revoke_api_key", params), single=True)
        return _row(rows[0]) if rows else None

    async def expire(self, key_id: str, after_ms: int) -> KeyRow | None:
        """The key as it is now: it ends after this time, or sooner where it did before. None when there is none."""
        params = {"id": key_id, "at_ms": await self._store.now_ms() + after_ms}
        rows = await self._driver.write(_one("expire_api_key", params), single=True)
        return _row(rows[0]) if rows else None

    async def used(self, key_id: str) -> None:
        params = {"id": key_id, "now_ms": self._store.dialect.now()}
        await self._driver.write(_one("use_api_key", params), single=True)


def _row(row: Any) -> KeyRow:
    found = KeyRow._make(row)
    return found._replace(hash=bytes(found.hash))


def _one(name: str, params: dict[str, Any]) -> Script[list[Any]]:
    rows = yield Query(name, params)
    return rows
