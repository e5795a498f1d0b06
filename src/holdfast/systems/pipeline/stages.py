"""Stages of a pipeline: what one ended with, what all of them make of the job, and when one rests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple


class StageStatus(StrEnum):
    """How a stage ended."""

    COMPLETED = "completed"
    PARTIAL = "partial"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class StageResult:
    """One stage's end. `counts` is False for one that was not wanted: it says nothing about the job."""

    name: str
    status: StageStatus
    duration_ms: int = 0
    metrics: Mapping[str, float] = field(default_factory=dict)
    errors: tuple[Mapping[str, Any], ...] = ()
    reason: str | None = None
    counts: bool = True

    def to_dict(self) -> dict[str, Any]:
        return {
            "status": self.status.value,
            "duration_ms": self.duration_ms,
            "metrics": dict(self.metrics),
            "errors": [dict(error) for error in self.errors],
            "reason": self.reason,
            "counts": self.counts,
        }

    @classmethod
    def from_dict(cls, name: str, data: Mapping[str, Any]) -> StageResult:
        return cls(
            name,
            StageStatus(data["status"]),
            data["duration_ms"],
            data["metrics"],
            tuple(data["errors"]),
            data["reason"],
            data["counts"],
        )


class Overall(StrEnum):
    """What a job's stages make of it."""

    COMPLETED = "COMPLETED"
    PARTIAL = "PARTIAL"
    FAILED = "FAILED"


def overall(results: Sequence[StageResult]) -> Overall:
    """All completed is COMPLETED, no success beside a failure or a failed first stage is FAILED, all else PARTIAL."""
    counted = [result for result in results if result.counts]
    if first_failed(results):
        return Overall.FAILED
    if all(result.status is StageStatus.COMPLETED for result in counted):
        return Overall.COMPLETED
    succeeded = any(result.status in (StageStatus.COMPLETED, StageStatus.PARTIAL) for result in counted)
    failed = any(result.status is StageStatus.FAILED for result in counted)
    return Overall.FAILED if failed and not succeeded else Overall.PARTIAL


def first_failed(results: Sequence[StageResult]) -> bool:
    """Whether the first stage that counts failed: nothing that follows has anything to work on."""
    first = next((result for result in results if result.counts), None)
    return first is not None and first.status is StageStatus.FAILED


@dataclass(frozen=True, slots=True)
class BreakerRule:
    """After `failures` in a row a stage rests for `cooldown_ms`; then one run may try it, and decides."""

    failures: int
    cooldown_ms: int


class StageRan(NamedTuple):
    """One end of a stage in the past. One that was skipped tells nothing, and is none."""

    at_ms: int
    failed: bool


@dataclass(frozen=True, slots=True)
class Closed:
    """Run it."""


@dataclass(frozen=True, slots=True)
class Untouched:
    """Leave it alone until then."""

    until_ms: int


@dataclass(frozen=True, slots=True)
class HalfOpen:
    """One run may try. `trial` names the trial: of all who ask under one name, one goes and the rest leave it alone."""

    trial: str
    until_ms: int


def judge(rule: BreakerRule, history: Sequence[StageRan], now_ms: int) -> Closed | Untouched | HalfOpen:
    """A breaker's state, from how the stage ended lately. It has no other memory, so all processes see the same."""
    latest = sorted(history, reverse=True)
    streak = next((number for number, ran in enumerate(latest) if not ran.failed), len(latest))
    if streak < rule.failures:
        return Closed()
    since_ms = latest[0].at_ms
    rested = (now_ms - since_ms) // rule.cooldown_ms
    if rested < 1:
        return Untouched(since_ms + rule.cooldown_ms)
    # A trial that never ends, since its process died, holds up the next one for one more rest and no longer.
    return HalfOpen(f"{since_ms}:{rested}", since_ms + (rested + 1) * rule.cooldown_ms)
