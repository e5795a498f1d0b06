"""From `module:name` to what is there, or to an error that says what is there instead."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, TypeVar

from holdfast.cli.exits import UsageError
from holdfast.kernel.errors import HoldfastError, LifecycleError, NotFoundError

if TYPE_CHECKING:
    from holdfast.runtime.engine import Engine

T = TypeVar("T")


def imported(where: str, kind: type[T], what: str, example: str) -> T:
    """The thing of this kind at `module:name`. The current directory is looked in first."""
    module_name, colon, name = where.partition(":")
    field = f"module:{what}"
    if not (module_name and colon and name):
        raise UsageError(f"{where!r} is not {field}", field=field, remedy=f"say {example}")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        module = importlib.import_module(module_name)
    except LifecycleError:
        raise
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}."):
            raise NotFoundError("module", module_name, remedy="run where it can be imported") from error
        raise HoldfastError(f"{module_name} cannot be imported: {type(error).__name__}: {error}") from error
    found = getattr(module, name, None)
    if found is None:
        there = [key for key, value in vars(module).items() if isinstance(value, kind)]
        remedy = f"it has: {', '.join(there)}" if there else f"{module_name} declares no {what}"
        raise NotFoundError(what, where, remedy=remedy)
    if not isinstance(found, kind):
        words = f"{where} is a {type(found).__name__}, not {'an' if kind.__name__[0] in 'AEIOU' else 'a'}"
        raise UsageError(f"{words} {kind.__name__}", field=field)
    return found


def engine_at(where: str) -> Engine:
    from holdfast.runtime.engine import Engine

    return imported(where, Engine, "app", "shop.jobs:app")
