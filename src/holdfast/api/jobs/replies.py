"""Answers about one job, made inside the transaction that changed it: nobody else's change is in between."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import Header

from holdfast.api.jobs.idempotency import reply
from holdfast.api.problems.kinds import Problem
from holdfast.commands import jobs as commands
from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.store.jobs.requests import Expected, Reply, Telling, job_now, signals_now
from holdfast.store.port import Applied, SignalRow, Store
from holdfast.store.script import Script
from holdfast.views.job import job_view

Tables = Mapping[str, Lifecycle]
ETAG = re.compile(r'(?:W/)?"(\d{1,10})"')
IfMatch = Annotated[
    str | None,
    Header(
        alias="If-Match",
        description="The job's ETag: the change is made to that version or not at all.",
        json_schema_extra={"pattern": rf"^\s*\*\s*$|{ETAG.pattern}"},
    ),
]


def job_reply(
    job: Job, table: Lifecycle | None, status: int = 200, signals: Sequence[SignalRow] = (), **more: Any
) -> Reply:
    view = {**job_view(job, table, signals), **more}
    return reply(status, view, ETag=f'"{job.version}"', Location=f"/api/jobs/{job.id}")


def tell_job(job_id: str, tables: Tables, status: int = 200, **more: Any) -> Script[Reply | None]:
    """A job as the transaction sees it, as an answer; None when there is no such job."""
    job = yield from job_now(job_id)
    if job is None:
        return None
    signals = yield from signals_now(job_id)
    return job_reply(job, tables.get(job.lifecycle), status, signals, **more)


def tell_moved(job_id: str, tables: Tables) -> Telling:
    """The job as it stands after a write that moved it, or that asked its worker to stop."""

    def tell(result: Any) -> Script[Reply | None]:
        moved = result.versions if isinstance(result, Applied) else result
        # Of a flow it is how many nodes were stopped at once: none, when all of them run.
        return (yield from tell_job(job_id, tables)) if moved or isinstance(moved, int) else None

    return tell


async def job_as_it_is(store: Store, job_id: str, status: int = 200, **more: Any) -> Reply:
    """The answer about a job that nothing was done to."""
    job = await commands.get_job(store, job_id)
    table = await commands.table_of(store, job)
    return job_reply(job, table, status, await store.reads.signals(job_id), **more)


def expected(job: Job, if_match: str | None) -> Expected | None:
    """The versions that a job may be at, of an If-Match header; Problem when it says none."""
    if if_match is None or if_match.strip() == "*":
        return None
    versions = frozenset(int(number) for number in ETAG.findall(if_match))
    if not versions:
        raise Problem("invalid_parameter", 'If-Match is an ETag such as "3"', field="If-Match")
    return Expected(job.id, versions)
