"""One structured line per transition that this process makes, on the logger `holdfast.transition`.

The line is JSON; handlers that format for themselves find its fields in the record's `transition`. It is said at level
INFO once the write has been answered; where that level is filtered out, a batch of any size costs one comparison.
Correlation and trace are said of jobs that this process has submitted or claimed: a move names its job alone.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Container, Iterable, Sequence
from typing import Protocol

from holdfast.observe import redact
from holdfast.observe.subjects import SomeJob, SomeSpec, Subject

REMEMBERED = 20_000

logger = logging.getLogger("holdfast.transition")
_origins: dict[str, dict[str, str]] = {}


class Row(Protocol):
    @property
    def source(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def event(self) -> str: ...
    @property
    def opens_attempt(self) -> bool: ...


class SomeMove(Protocol):
    @property
    def job_id(self) -> str: ...
    @property
    def attempt(self) -> int: ...
    @property
    def reason(self) -> str | None: ...


class SomeChange(Protocol):
    @property
    def path(self) -> Sequence[Row]: ...
    @property
    def moves(self) -> Sequence[SomeMove]: ...


def submitted(made: Iterable[tuple[SomeSpec, str]]) -> None:
    """Jobs that were created, each with its event's type."""
    if logger.isEnabledFor(logging.INFO):
        for spec, event in made:
            _remember(spec)
            _say(spec.id, None, spec.state, spec.reason, 1, event)


def claimed(jobs: Iterable[SomeJob], path: Sequence[Row], reason: str | None = None) -> None:
    """Jobs as they stand after a path that ends with their lease."""
    if logger.isEnabledFor(logging.INFO):
        for job in jobs:
            _remember(job)
            for row in path:
                _say(job.id, str(row.source), str(row.target), reason, job.attempt, row.event)


def applied(changes: Iterable[SomeChange], moved: Container[str]) -> None:
    """Those moves of these changes that took effect."""
    if not logger.isEnabledFor(logging.INFO):
        return
    for change in changes:
        for move in change.moves:
            if move.job_id not in moved:
                continue
            attempt = move.attempt
            for row in change.path:
                attempt += row.opens_attempt
                _say(move.job_id, str(row.source), str(row.target), move.reason, attempt, row.event)


def _remember(job: Subject) -> None:
    if len(_origins) >= REMEMBERED:
        _origins.clear()
    ids = {"correlation_id": job.correlation_id or job.id, "trace_id": job.trace_id}
    _origins[job.id] = {name: value for name, value in ids.items() if value is not None}


def _say(job_id: str, source: str | None, target: str, reason: str | None, attempt: int, event: str) -> None:
    # The reason is the only part that is in somebody's own words.
    why = reason if reason is None else redact.text(reason)
    fields = {"event": event, "job_id": job_id, "from": source, "to": target, "reason": why, "attempt": attempt}
    fields |= _origins.get(job_id, {})
    logger.info("%s", json.dumps(fields), extra={"transition": fields})
