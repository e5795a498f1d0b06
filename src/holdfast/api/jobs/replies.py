"""Answers about one job, made from the facts of what was done to it: of a repeat the same."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import Header

from holdfast.api.jobs.idempotency import Reply, reply
from holdfast.api.problems.kinds import Problem, missing
from holdfast.kernel.errors import NotFoundError
from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.store.port import Facts, SignalRow, Store
from holdfast.views.find import see_job
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


def job_answer(done: Facts, job_id: str, tables: Tables, status: int = 200, **more: Any) -> Reply:
    """One of the jobs that something was done to, as it stood then."""
    job = done.jobs[job_id]
    signals = [signal for signal in done.progress if signal.job_id == job_id]
    return job_reply(job, tables.get(job.lifecycle), status, signals, **more)


async def job_as_it_is(store: Store, job_id: str, status: int = 200, **more: Any) -> Reply:
    """The answer about a job that nothing was done to."""
    job, table, progress = await see_job(store, job_id)
    return job_reply(job, table, status, progress, **more)


def no_job(error: NotFoundError, job_id: str) -> NotFoundError | Problem:
    """A job that is not there, in the words of this API; all else that there is none of, as it says itself."""
    return missing("job", job_id, "GET /api/jobs lists those that there are") if error.what == "job" else error


def versions_of(if_match: str | None) -> frozenset[int] | None:
    """The versions that a job may be at, of an If-Match header; Problem when it says none."""
    if if_match is None or if_match.strip() == "*":
        return None
    versions = frozenset(int(number) for number in ETAG.findall(if_match))
    if not versions:
        raise Problem("invalid_parameter", 'If-Match is an ETag such as "3"', field="If-Match")
    return versions
