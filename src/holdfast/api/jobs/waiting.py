"""Submit and wait: a call that holds its connection until the job is over. How many may is limited."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request

from holdfast.api.problems.kinds import Problem
from holdfast.kernel.job import Job
from holdfast.store.port import Store
from holdfast.views.find import until_over

LOOK_EVERY_S = 5.0
RETRY_AFTER_S = "5"


@asynccontextmanager
async def place(app: FastAPI, store: Store, queue: str) -> AsyncIterator[None]:
    """A place among those who wait. Problem, before anything is created, when there is none left or the queue is too
    long to wait in.
    """
    settings, waiting = app.state.settings, getattr(app.state, "sync_waiting", 0)
    if waiting >= settings.sync_waiters:
        raise _saturated(f"{settings.sync_waiters} calls wait already, and no more at a time")
    app.state.sync_waiting = waiting + 1
    try:
        if await store.admin.queues.backlog(queue, settings.sync_backlog) >= settings.sync_backlog:
            raise _saturated(f"queue {queue} has {settings.sync_backlog:,} jobs or more before this one")
        yield
    finally:
        app.state.sync_waiting -= 1


async def over_by_then(request: Request, store: Store, job_id: str, wait_s: float) -> Job | None:
    """The job once it is over; None when the time is, or when nobody is there any more to be told."""
    deadline_s = time.monotonic() + wait_s
    while True:
        left_s = deadline_s - time.monotonic()
        job = await until_over(store, job_id, max(min(left_s, LOOK_EVERY_S), 0.0))
        if job is not None or left_s <= LOOK_EVERY_S or await request.is_disconnected():
            return job


def _saturated(detail: str) -> Problem:
    return Problem("saturated", detail, field="wait", headers={"Retry-After": RETRY_AFTER_S})
