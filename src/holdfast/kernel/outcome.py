"""What a handler ended with, as a value. One place turns it into a move of the job: `settle`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from holdfast.kernel.job import Failure


@dataclass(frozen=True, slots=True)
class Done:
    """Ended well. `result` is JSON text, or None for no result."""

    result: str | None = None


@dataclass(frozen=True, slots=True)
class Partial:
    """Ended with something, not with everything."""

    result: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Skip:
    """There was nothing to do."""

    reason: str


@dataclass(frozen=True, slots=True)
class Retry:
    """Failed, and another try may help. `delay_ms` overrides the policy's back-off."""

    failure: Failure
    delay_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Fail:
    """Failed for good. `dead_reason` names a dead-letter reason where the lifecycle has such a state."""

    failure: Failure
    dead_reason: str | None = None
    compensated: bool = False


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Stopped because somebody asked for it."""

    reason: str
    result: str | None = None


@dataclass(frozen=True, slots=True)
class TimedOut:
    """Ran longer than it may."""

    failure: Failure


class Notes(NamedTuple):
    """What a handler said beside its result: kept with it, whichever way the job ends."""

    output: Mapping[str, Any] = {}
    """What it made, in a few words: pages, files, sizes."""
    progress: str | None = None
    """How far it came, with its counters, as JSON text."""


SILENT = Notes()

Outcome = Done | Partial | Skip | Retry | Fail | Cancelled | TimedOut
