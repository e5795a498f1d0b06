"""Around the store: what runs its scripts, for tests that tamper with rows or look at them as they are."""

from __future__ import annotations

from holdfast.store.database import Driver
from holdfast.store.port import Store
from holdfast.store.store import SqlStore


def driver_of(store: Store) -> Driver:
    assert isinstance(store, SqlStore)
    return store.driver
