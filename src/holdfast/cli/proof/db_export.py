"""`holdfast db export`: every job with its events, a JSON object a line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from holdfast.cli.invocation import Call
from holdfast.views.job import event_view, job_view

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from holdfast.kernel.event import Event
    from holdfast.kernel.job import Job
    from holdfast.store.port import Reads


async def export(*, call: Call) -> None:
    """Print every job with its events, oldest first: a JSON object a line, whatever -o says.

    Jobs that are at work meanwhile are as they are when their turn comes. To move a database as it is, copy it with the
    tools of its own: a SQLite file with `.backup`, PostgreSQL with `pg_dump`.
    """
    jobs = events = 0
    async with call.store() as store:
        tables = await store.reads.lifecycles()
        logs = _Logs(store.reads)
        async for batch in store.reads.all_jobs():
            for job in batch:
                table, log = tables.get(job.lifecycle), await logs.of(job)
                line = job_view(job, table) | {"events": [event_view(event, table) for event in log]}
                print(json.dumps(line, separators=(",", ":"), ensure_ascii=False))
                jobs, events = jobs + 1, events + len(log)
    call.say(f"{jobs:,} jobs, {events:,} events")


class _Logs:
    """Hands out the log job by job, in the order of the jobs' ids, and holds no more than a batch of it."""

    def __init__(self, reads: Reads) -> None:
        self._stream: AsyncIterator[list[Event]] = reads.all_events()
        self._read: list[Event] = []
        self._at = 0

    async def of(self, job: Job) -> list[Event]:
        found: list[Event] = []
        while (event := await self._next()) is not None and event.job_id <= job.id:
            self._at += 1
            if event.job_id == job.id:  # one of a job that is gone since, or not yet read, is passed over
                found.append(event._replace(correlation_id=job.correlation_id, trace_id=job.trace_id))
        return found

    async def _next(self) -> Event | None:
        if self._at == len(self._read):
            self._read, self._at = await anext(self._stream, []), 0
        return self._read[self._at] if self._read else None
