"""Keys: how one is made, what it looks like, and who it makes its holder."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from holdfast.kernel.errors import HoldfastError
from holdfast.store.port import KeyRow, Store

SECRET_BYTES = 32
SHAPE = re.compile(r"hf_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
NOTED_EVERY_S = 60.0
"""How exact `last_used` is: a read should not cost a write each time."""


class Scope(StrEnum):
    """What a key may do; each may do what those before it may."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    @property
    def implied(self) -> frozenset[Scope]:
        order = list(Scope)
        return frozenset(order[: order.index(self) + 1])


class Caller(NamedTuple):
    """Who calls. Without a key it is somebody on this machine, who may do everything."""

    name: str
    scopes: frozenset[Scope]
    key_id: str | None = None


LOCAL = Caller("local", Scope.ADMIN.implied)
NOBODY = Caller("nobody", frozenset())


class NewKey(NamedTuple):
    """A key that was just made. `token` is shown once: only its digest is kept."""

    token: str
    row: KeyRow


async def make_key(store: Store, name: str, scope: Scope, *, lives_ms: int | None = None) -> NewKey:
    """Make a key and keep its digest. HoldfastError names the field that is wrong."""
    if not name.strip() or len(name) > 100:
        raise HoldfastError("a key needs a name of 1 to 100 characters", field="name", remedy="say what it is for")
    if lives_ms is not None and lives_ms <= 0:
        raise HoldfastError("a key that expires at once opens nothing", field="expires", remedy="say 30d, or leave it")
    key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(SECRET_BYTES)
    now_ms = await store.now_ms()
    expires_at_ms = None if lives_ms is None else now_ms + lives_ms
    row = KeyRow(key_id, name, digest_of(secret), scope.value, now_ms, expires_at_ms)
    await store.admin.keys.add(row)
    return NewKey(f"hf_{key_id}_{secret}", row)


def digest_of(secret: str) -> bytes:
    """A plain SHA-256 is right here: nobody guesses 256 random bits, however fast the hash is."""
    return hashlib.sha256(secret.encode()).digest()


class Keyring:
    """Tells who holds a token."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._noted_s: dict[str, float] = {}

    async def holder(self, store: Store, token: str) -> Caller | None:
        """Who this token makes its holder; None when it opens nothing."""
        shape = SHAPE.fullmatch(token)
        if shape is None:
            return None
        key_id, secret = shape.groups()
        keys = store.admin.keys
        row = await keys.live(key_id)
        # Compared even when there is no such key, so that time does not tell.
        same = hmac.compare_digest(row.hash if row else bytes(32), digest_of(secret))
        if row is None or not same:
            return None
        now_s = self._clock()
        if now_s - self._noted_s.get(key_id, -NOTED_EVERY_S) >= NOTED_EVERY_S:
            self._noted_s[key_id] = now_s
            await keys.used(key_id)
        return Caller(row.name, Scope(row.scope).implied, key_id)
