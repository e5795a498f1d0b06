"""For tests of code that uses Holdfast: the real engine on a real database, a clock that tests move, nothing faked.

With pytest, ask for the fixtures `holdfast_engine` and `holdfast_clock`; without it, `temporary_engine()`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.testing.clock import MovableClock
    from holdfast.testing.draining import Drained, drain
    from holdfast.testing.engine import temporary_engine
    from holdfast.testing.submitted import assert_submitted

# Loaded when they are asked for: pytest imports this package for every suite, with or without jobs.
_HOMES = {
    "Drained": "draining",
    "MovableClock": "clock",
    "assert_submitted": "submitted",
    "drain": "draining",
    "temporary_engine": "engine",
}

__all__ = ["Drained", "MovableClock", "assert_submitted", "drain", "temporary_engine"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
