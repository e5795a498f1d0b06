"""Systems by name: what is declared on top of jobs, and everything that it brings, told at one place.

A system of this package is a line of `BUILT_IN_SYSTEMS`; one of another package, a plugin, is an entry point of the
group `holdfast.systems`. Either names a `System`. What it brings is said as "module:name" and imported when needed.
A plugin that cannot be had, or that brings what is there already, is left out and said to be: nothing else fails by it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.kernel.durable import DURABLE
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.lifecycle import Lifecycle

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

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
        "process": "holdfast.executors.spawned:Spawned",
    }
)
NONE: Mapping[str, Any] = MappingProxyType({})
MEND = "upgrade or uninstall the package that brings it; holdfast doctor shows what is missing"


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
    """How its jobs are shown and explained, where that differs from all jobs': a `views.of_systems.Views`."""
    fields: str | None = None
    """The fields that its views add to those of all jobs, for the API's document: a model of fields with defaults."""
    routes: tuple[str, ...] = ()
    """Routers of the HTTP API; each of their routes says which scope it needs."""
    problems: str | None = None
    """Kinds of problems that its routes answer, beyond those of all routes, by their codes."""
    forms: tuple[str, ...] = ()
    """Jobs that `POST /jobs` takes by their type, and not by a task's name: `api.shapes.forms.Form`."""
    cli: Mapping[str, Noun] = NONE
    """Its commands of the command line."""
    chores: tuple[str, ...] = ()
    """What is done for it again and again: classes of `chores.runner.Chore`, made with the store."""
    checks: str | None = None
    """What `holdfast doctor` looks at for it: from the store to lines."""
    demo: str | None = None
    """Its part of `holdfast demo`: declares tasks on the demo's engine, and says how their jobs are submitted."""


class SystemRefusedError(HoldfastError):
    """A plugin, or a part of one, cannot join: what it brings is no such thing, or is there already."""


def load(path: str) -> Any:
    """What stands at "module:name"."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


@cache
def built_in() -> tuple[System, ...]:
    return tuple(load(path) for path in BUILT_IN_SYSTEMS)


@cache
def plugins() -> tuple[System, ...]:
    """Systems of other packages, by name. Read once: what is installed later is seen by the next process."""
    from importlib.metadata import entry_points

    found: dict[str, System] = {}
    lifecycles = dict(_tables())
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        package = "" if point.dist is None else f" of {point.dist.name} {point.dist.version}"
        try:
            system = _plugin(point, [*(system.name for system in built_in()), *found])
            lifecycles |= _lifecycles(system, lifecycles)
        except Exception as error:  # whatever is wrong with one of them, the program goes on without it
            refuse(f"{point.name}{package}", error)
        else:
            found[system.name] = system
    return tuple(found.values())


def systems() -> tuple[System, ...]:
    """All that there are: ours, then those of other packages."""
    return (*built_in(), *plugins())


def brought(part: str, join: Callable[[Any], object] | None = None, *, of: System | None = None) -> list[Any]:
    """What the systems, or one, bring as this part, imported, and let in by `join`. What a plugin cannot give is left
    out.
    """
    found = []
    for system in systems() if of is None else (of,):
        for path in _paths(getattr(system, part)):
            try:
                each = load(path)
                if join is not None:
                    join(each)
            except Exception as error:
                if system in built_in():
                    raise
                refuse(system.name, error)
            else:
                found.append(each)
    return found


_refused: dict[tuple[str, str], None] = {}


def refuse(system: str, error: Exception) -> None:
    """Leave a plugin, or a part of it, out, and say so."""
    why = error.message if isinstance(error, HoldfastError) else f"{type(error).__name__}: {error}"
    if (system, why) not in _refused:
        from holdfast.observe.logs import get_logger

        _refused[system, why] = None
        get_logger("holdfast.catalog").warning("system_refused", system=system, why=why, remedy=MEND)


def refused() -> list[tuple[str, str]]:
    """Each plugin that did not join as a whole, and why: everything that they name is tried."""
    for part in System._fields[1:]:
        brought(part)
    return list(_refused)


def _paths(named: Any) -> list[str]:
    """The names that a field of a system holds, however many it may."""
    if isinstance(named, Mapping):
        return [each.path if isinstance(each, Noun) else each for each in named.values()]
    return [named] if isinstance(named, str) else list(named or ())


def _plugin(point: EntryPoint, taken: Collection[str]) -> System:
    system = point.load()
    if not isinstance(system, System):
        raise SystemRefusedError(f"{point.value} is a {type(system).__name__}, not a holdfast.catalog.System")
    if system.name in taken:
        raise SystemRefusedError(f"a system is named {system.name!r} already")
    return system


def _lifecycles(system: System, known: Mapping[str, Lifecycle]) -> dict[str, Lifecycle]:
    """The tables that a plugin brings, none of which is there already."""
    made = [load(path) for path in system.lifecycles]
    for table in made:
        if not isinstance(table, Lifecycle):
            raise SystemRefusedError(f"a lifecycle of it is a {type(table).__name__}, not a holdfast.Lifecycle")
        if table.name in known:
            raise SystemRefusedError(f"a lifecycle is named {table.name!r} already")
    return {table.name: table for table in made}


@cache
def executors() -> Mapping[str, str]:
    """Where each executor is, by the name that works ask for."""
    found = dict(BUILT_IN_EXECUTORS)
    for system in systems():
        if taken := sorted(found.keys() & system.executors):
            refuse(system.name, SystemRefusedError(f"an executor is named {taken[0]!r} already"))
        else:
            found |= system.executors
    return found


@cache
def arounds() -> Mapping[str, str]:
    """By the lifecycle that jobs follow: where that is which goes on around their runs."""
    return {load(table).name: each.around for each in systems() if each.around for table in each.lifecycles}


@cache
def _tables() -> dict[str, Lifecycle]:
    brought: list[Lifecycle] = [load(path) for system in built_in() for path in system.lifecycles]
    return {table.name: table for table in (DURABLE, *brought)}


def tables() -> dict[str, Lifecycle]:
    """Every lifecycle that systems bring, and the default. A database keeps those of plugins, as it does users' own."""
    return {**_tables(), **{table.name: table for system in plugins() for table in map(load, system.lifecycles)}}


@cache
def system_of(lifecycle: str) -> System | None:
    """The system whose jobs follow this lifecycle; None for the default, and for what users declare."""
    for some in (built_in, plugins):
        for system in some():
            if any(load(path).name == lifecycle for path in system.lifecycles):
                return system
        if lifecycle in _tables():
            return None
    return None


if TYPE_CHECKING:
    KNOWN: dict[str, Lifecycle]
    """What every store knows: the default, and what each system of ours brings."""
    BUILT_IN: dict[str, Lifecycle]
    """What jobs that a worker runs can follow: what a flow as a whole follows is not among them."""


def __getattr__(name: str) -> Any:
    """Late: a system that is imported first needs this module before there are any tables."""
    if name == "KNOWN":
        return _tables()
    if name == "BUILT_IN":
        return {label: table for label, table in _tables().items() if table.claimable}
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
