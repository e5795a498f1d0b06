"""The log as it is kept: a row for a batch of jobs that took the same path at once, which stands for their events.

One event per transition all the same: a row says which jobs, which steps, when and by whom, and what differs from job
to job. `expand` makes of it exactly the events, each with a place of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from holdfast.kernel.event import Event
from holdfast.kernel.lifecycle import Transition

T = TypeVar("T")

SPAN = 4096
"""How many places a row takes: it never stands for more events."""

BEGINNING = -(2**62)
"""Before every place."""


class PathStep(NamedTuple):
    """One step of a path. `later` is how many attempts the steps behind it open."""

    type: str
    source: str
    target: str
    later: int


class LogRow(NamedTuple):
    """One row of the log. What is said of each job is a list as long as `ids`, or None where it is nothing of any."""

    pos: int
    lifecycle: str
    path: str
    at_ms: int
    actor: str
    ids: Sequence[str | None]
    prevs: Sequence[int | None]
    attempts: Sequence[int]
    versions: Sequence[int]
    times: Sequence[int] | None
    reasons: Sequence[str | None] | None
    causes: Sequence[str | None] | None
    payloads: Sequence[str | None] | None
    payload_digests: Sequence[bytes | None] | None
    digests: Sequence[bytes | None] | None
    schema_version: int


def path_text(path: Sequence[Transition]) -> str:
    """A path as a row keeps it."""
    steps: list[tuple[Any, ...]] = []
    later = 0
    for row in reversed(path):
        steps.append((row.event, row.source.value, row.target.value, later))
        later += row.opens_attempt
    return json.dumps(steps[::-1], separators=(",", ":"))


@lru_cache(maxsize=1024)
def steps_of(path: str) -> tuple[PathStep, ...]:
    """The steps of a path. One that nobody of ours has written is a step of no lifecycle: whoever reads goes on."""
    try:
        steps = tuple(PathStep(*step) for step in json.loads(path))
    except (ValueError, TypeError):
        steps = ()
    sound = steps and all(isinstance(step.later, int) for step in steps)
    return steps if sound else (PathStep(path, "", "", 0),)


def expand(row: LogRow) -> Iterable[Event]:
    """The events that a row stands for, in the order of their places. What was removed leaves its places free."""
    steps, row = steps_of(row.path), even(row)
    for i, job_id in enumerate(row.ids):
        if job_id is not None:
            yield from part(row, steps, i, job_id)


def part(row: LogRow, steps: Sequence[PathStep], i: int, job_id: str) -> Iterable[Event]:
    """The events of one of a row's jobs."""
    count = len(steps)
    first, seq, attempt = row.pos + i * count, (row.versions[i] or 0) - count + 1, row.attempts[i] or 0
    at_ms = row.at_ms if row.times is None else row.times[i] or row.at_ms
    reason, cause = _nth(row.reasons, i), _nth(row.causes, i)
    for n, step in enumerate(steps):
        payload, payload_digest, digest = None, None, None
        if n == count - 1:
            payload, payload_digest = _nth(row.payloads, i), _nth(row.payload_digests, i)
            digest = _nth(row.digests, i)
        yield Event(
            first + n,
            job_id,
            seq + n,
            step.type,
            step.source,
            step.target,
            at_ms,
            row.actor,
            attempt - step.later,
            reason,
            cause,
            payload,
            payload_digest,
            digest,
            row.schema_version,
        )


def _nth(values: Sequence[T] | None, i: int) -> T | None:
    return None if values is None else values[i]


def even(row: LogRow) -> LogRow:
    """A row whose lists are as long as they should be, whatever was done to them."""
    size = len(row.ids)
    if all(values is None or len(values) == size for values in row[6:15]):
        return row
    lists: dict[str, Any] = {name: getattr(row, name) for name in LogRow._fields[6:15]}
    for name, values in lists.items():
        lists[name] = None if values is None else [*values, *[None] * size][:size]
    return row._replace(**lists)
