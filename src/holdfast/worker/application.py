"""What a worker works for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from holdfast.kernel.classify import Classifier
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.store.port import Store
from holdfast.tasks.registry import Registry


class Application(Protocol):
    """What is declared, and where its jobs are. An engine is one."""

    url: str
    registry: Registry
    classifier: Classifier

    @property
    def tables(self) -> Mapping[str, Lifecycle]:
        """The lifecycles that are known, by name."""

    async def opened(self) -> Store:
        """The store, brought up to date."""
