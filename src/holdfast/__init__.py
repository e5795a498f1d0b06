"""Holdfast: every job follows a declared lifecycle, and the engine can prove that it did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.engine import Engine
    from holdfast.kernel.errors import (
        HoldfastError,
        LeaseConflictError,
        PermanentError,
        TransientError,
        ValidationError,
    )
    from holdfast.kernel.lifecycle import Lifecycle, Transition
    from holdfast.runtime.handle import JobCancelledError, JobFailedError, JobHandle, WaitTimeoutError
    from holdfast.systems.pipeline.declare.stage import Breaker
    from holdfast.systems.pipeline.declare.stage_context import StageContext
    from holdfast.tasks.answers import Partial, Skip
    from holdfast.tasks.context import Context
    from holdfast.tasks.limits import Limit

    __version__: str

# Where each public name lives. Loaded when it is asked for: `holdfast version` pays for none of them.
_HOMES = {
    "Breaker": "holdfast.systems.pipeline.declare.stage",
    "Context": "holdfast.tasks.context",
    "Engine": "holdfast.engine",
    "HoldfastError": "holdfast.kernel.errors",
    "JobCancelledError": "holdfast.runtime.handle",
    "JobFailedError": "holdfast.runtime.handle",
    "JobHandle": "holdfast.runtime.handle",
    "LeaseConflictError": "holdfast.kernel.errors",
    "Lifecycle": "holdfast.kernel.lifecycle",
    "Limit": "holdfast.tasks.limits",
    "Partial": "holdfast.tasks.answers",
    "PermanentError": "holdfast.kernel.errors",
    "Skip": "holdfast.tasks.answers",
    "StageContext": "holdfast.systems.pipeline.declare.stage_context",
    "TransientError": "holdfast.kernel.errors",
    "Transition": "holdfast.kernel.lifecycle",
    "ValidationError": "holdfast.kernel.errors",
    "WaitTimeoutError": "holdfast.runtime.handle",
}

__all__ = [
    "Breaker",
    "Context",
    "Engine",
    "HoldfastError",
    "JobCancelledError",
    "JobFailedError",
    "JobHandle",
    "LeaseConflictError",
    "Lifecycle",
    "Limit",
    "Partial",
    "PermanentError",
    "Skip",
    "StageContext",
    "TransientError",
    "Transition",
    "ValidationError",
    "WaitTimeoutError",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        # importlib.metadata takes longer to import than the kernel: only who asks for the version pays.
        from importlib.metadata import version

        return version("holdfast")
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
