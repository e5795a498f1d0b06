"""Systems by name: what is declared on top of jobs, and everything that it brings, told at one place.

A system of this package is a line of `BUILT_IN_SYSTEMS`; one of another package is an entry point of the group
`holdfast.systems`. Either names a `System`. What a system brings is said as "module:name" and imported when needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.kernel.durable import DURABLE
from holdfast.kernel.lifecycle import Lifecycle

GROUP = "holdfast.systems"
BUILT_IN_SYSTEMS = (
    "holdfast.systems.crawl:SYSTEM",
    "holdfast.systems.pipeline:SYSTEM",
    "holdfast.systems.flow:SYSTEM",
    "holdfast.systems.sandbox:SYSTEM",
)
BUILT_IN_EXECUTORS: Mapping[str, str] = MappingProxyType(
    {
        "loop": "holdfast.executors.inline:Inline",
        "thread": "holdfast.executors.threaded:Threaded",
        "process": "holdfast.executors.apart:Apart",
    }
)
NONE: Mapping[str, Any] = MappingProxyType({})


class Noun(NamedTuple):
    """A command of the command line: where it is, and its line of help."""

    path: str
    help: str


class System(NamedTuple):
    """What a system brings. Only the name has to be there."""

    name: str
    lifecycles: tuple[str, ...] = ()
    """Tables that its jobs follow."""
    executors: Mapping[str, str] = NONE
    """By the name that a task's work asks for: who runs it, made from a `Site`."""
    around: str | None = None
    """What is worked out before and after a run of its jobs: an `Around`, made from the registry and the store."""
    views: str | None = None
    """How its jobs are shown and explained, where that differs from all jobs'."""
    routes: str | None = None
    """Its routes of the HTTP API, each with its scope."""
    cli: Mapping[str, Noun] = NONE
    """Its commands of the command line."""
    chores: tuple[str, ...] = ()
    """What is done for it again and again."""
    checks: str | None = None
    """What `holdfast doctor` looks at for it."""


def load(path: str) -> Any:
    """What stands at "module:name"."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


@cache
def systems() -> tuple[System, ...]:
    """All that there are: ours first, then those of other packages by name."""
    from importlib.metadata import entry_points

    others = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    return (*(load(path) for path in BUILT_IN_SYSTEMS), *(point.load() for point in others))


@cache
def executors() -> Mapping[str, str]:
    """Where each executor is, by the name that works ask for."""
    return {**BUILT_IN_EXECUTORS, **{name: path for system in systems() for name, path in system.executors.items()}}


@cache
def arounds() -> Mapping[str, str]:
    """By the lifecycle that jobs follow: where that is which goes on around their runs."""
    return {load(table).name: each.around for each in systems() if each.around for table in each.lifecycles}


@cache
def _tables() -> dict[str, Lifecycle]:
    brought: list[Lifecycle] = [load(path) for system in systems() for path in system.lifecycles]
    return {table.name: table for table in (DURABLE, *brought)}


if TYPE_CHECKING:
    KNOWN: dict[str, Lifecycle]
    """What every store knows: the default, and what each system brings."""
    BUILT_IN: dict[str, Lifecycle]
    """What jobs that a worker runs can follow: what a flow as a whole follows is not among them."""


def __getattr__(name: str) -> Any:
    """Late: a system that is imported first needs this module before there are any tables."""
    if name == "KNOWN":
        return _tables()
    if name == "BUILT_IN":
        return {label: table for label, table in _tables().items() if table.claimable}
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
