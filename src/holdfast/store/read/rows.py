"""Events, told from the rows of the log that stand for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from holdfast.kernel.event import Event
from holdfast.kernel.job import Job
from holdfast.kernel.log import SPAN, LogRow, even, expand, part, steps_of
from holdfast.kernel.proof.chain import BackLink
from holdfast.store.dialect import Dialect
from holdfast.store.port import Trail
from holdfast.store.script import Query, Row, Script

ROWS = 256
"""As many rows are read at once: each may stand for thousands of events, or for one."""

MANY_ROWS = 4096
"""As many, where each stands for few."""

FEW = 20
"""As many jobs are looked up one by one."""

EVENTS = 16_000
"""About as many events are told at once."""

FIELDS = len(Job._fields)
VERSION = Job._fields.index("version")


class History(NamedTuple):
    """A job's events, in order, and the rows of the log that they are from, but for the first."""

    events: list[Event]
    links: list[BackLink]


def histories(dialect: Dialect, job_ids: Sequence[str]) -> Script[dict[str, list[Event]]]:
    """The events of each of these jobs that is there, in order."""
    found = yield from linked(dialect, job_ids)
    return {job_id: history.events for job_id, history in found.items()}


def linked(dialect: Dialect, job_ids: Sequence[str]) -> Script[dict[str, History]]:
    """The history of each of these jobs that is there."""
    found = yield from (_by_rows if len(job_ids) > FEW else _by_jobs)(dialect, job_ids)
    for history in found.values():
        history.events.sort(key=lambda event: event.seq)
        history.links.sort()
    return found


def _by_jobs(dialect: Dialect, job_ids: Sequence[str]) -> Script[dict[str, History]]:
    """All in one look, job by job."""
    found: dict[str, History] = {}
    for row in (yield Query("history", {"ids": dialect.array(job_ids)})):
        job_id, pos, prev, i, path, at_ms, actor, attempt, version, *what = row
        reason, cause, payload, payload_digest, digest, schema = what
        steps = steps_of(path)
        digests = dialect.bytes_of(payload_digest), dialect.bytes_of(digest)
        words = ([reason], [cause], [payload], [digests[0]], [digests[1]])
        own = LogRow(
            pos + i * len(steps), "", path, at_ms, actor, [job_id], [None], [attempt], [version], None, *words, schema
        )
        history = found.setdefault(job_id, History([], []))
        history.events.extend(part(own, steps, 0, job_id))
        if prev is not None or version > 1:
            history.links.append(BackLink(pos, prev))
    return found


def _by_rows(dialect: Dialect, job_ids: Sequence[str]) -> Script[dict[str, History]]:
    """Row by row, from where all of them stand back to their first: jobs that went together are read together."""
    found: dict[str, History] = {}
    for row in (yield Query("first_events", {"ids": dialect.array(job_ids)})):
        found[row[1]] = History([Event(*row)], [])
    jobs: dict[int, list[str]] = {}
    for job_id, pos in (yield Query("stood", {"ids": dialect.array(job_ids)})):
        jobs.setdefault(pos, []).append(job_id)
    while jobs:
        places = sorted(jobs)
        before: dict[int, list[str]] = {}
        for n in range(0, len(places), ROWS):
            for row in map(dialect.row, (yield Query("rows_at", {"places": dialect.array(places[n : n + ROWS])}))):
                _follow(row, jobs[row.pos], found, before)
        jobs = before
    return found


def _follow(row: LogRow, job_ids: Sequence[str], found: dict[str, History], before: dict[int, list[str]]) -> None:
    """The events of jobs in a row, and which row of each comes before."""
    steps, row = steps_of(row.path), even(row)
    members = {job_id: i for i, job_id in enumerate(row.ids)}
    for job_id in job_ids:
        if (i := members.get(job_id)) is None:
            continue
        history = found.setdefault(job_id, History([], []))
        history.events.extend(part(row, steps, i, job_id))
        prev = row.prevs[i]
        history.links.append(BackLink(row.pos, prev))
        if prev is not None and prev < row.pos:
            before.setdefault(prev, []).append(job_id)


def trail(dialect: Dialect, rows: Sequence[Row]) -> Script[list[Trail]]:
    """Jobs with their histories, a share at a time: one job may have as many events as thousands of others."""
    found: dict[str, History] = {}
    for some in _shares(rows):
        found |= yield from linked(dialect, some)
    jobs = [(Job._make(row[:FIELDS]), row[FIELDS:]) for row in rows]
    return [Trail(job, *found.get(job.id, History([], [])), *rest) for job, rest in jobs]


def _shares(rows: Sequence[Row]) -> Iterable[list[str]]:
    """The ids of jobs, as many at a time as have few enough events together."""
    some: list[str] = []
    events = 0
    for row in rows:
        some.append(row[0])
        events += row[VERSION] or 1
        if events >= EVENTS:
            yield some
            some, events = [], 0
    if some:
        yield some


def behind(dialect: Dialect, after: int, limit: int) -> Script[list[Event]]:
    """Up to `limit` events behind a place, gaps or not."""
    events: list[Event] = []
    at, many = after // SPAN * SPAN - 1, ROWS
    while len(events) < limit:
        rows = [dialect.row(row) for row in (yield Query("rows", {"after": at, "limit": many}))]
        events += islice(later(rows, after), limit - len(events))
        if len(rows) < many:
            break
        at, many = rows[-1].pos, more_rows(len(events))
    return events


def more_rows(events: int) -> int:
    """How many rows to read next, where so many stood for so many events: more where each stands for few."""
    return MANY_ROWS if events < 4 * ROWS else ROWS


def later(rows: Iterable[LogRow], after: int) -> Iterable[Event]:
    """The events of rows that stand behind a place: it may be in the middle of the first of them."""
    return (event for row in rows for event in expand(row) if event.pos > after)


def traced(dialect: Dialect, events: Sequence[Event]) -> Script[list[Event]]:
    """Events with the correlation and trace ids of their jobs."""
    ids = list({event.job_id for event in events})
    known = {row[0]: row[1:] for row in (yield Query("traces", {"ids": dialect.array(ids)}))} if ids else {}
    if not known:
        return list(events)
    return [
        event._replace(correlation_id=own[0], trace_id=own[1]) if (own := known.get(event.job_id)) else event
        for event in events
    ]
