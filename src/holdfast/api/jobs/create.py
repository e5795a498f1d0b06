"""POST /jobs: one job, once; with `wait`, the answer is the finished job."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request
from pydantic import BeforeValidator
from starlette.responses import Response

from holdfast.api.access.keys import Scope
from holdfast.api.access.scopes import needs
from holdfast.api.deps import CallerDep, EngineDep, StoreDep
from holdfast.api.jobs.idempotency import OnceDep, Reply
from holdfast.api.jobs.replies import job_answer, job_as_it_is
from holdfast.api.jobs.waiting import over_by_then, place
from holdfast.api.settings import ApiSettings
from holdfast.api.shapes.bodies import LONGEST_WAIT_S, WAIT_SCHEMA, TaskJob
from holdfast.api.shapes.change import MadeJob
from holdfast.api.shapes.forms import TypedJob, origin_of
from holdfast.api.shapes.new_jobs import FORM_PROBLEMS, NewJob, form_of, spec_of
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.store.port import Ask, Facts, Store

router = APIRouter(tags=["jobs"])
EXISTS = "a job with this {what} exists already and is not over; it is the answer, and nothing was created"
ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"model": MadeJob, "description": "It exists already (`created` is false); or, with `wait`, it is over."},
    201: {"model": MadeJob, "description": "Created. `Location` says where it is."},
    202: {"model": MadeJob, "description": "With `wait`: the time is over, the job is not."},
}


AS_USUAL = -1.0
NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?", re.ASCII)


def _seconds(value: str) -> float:
    """`?wait=true` waits as long as is usual, `?wait=30` so many seconds."""
    known = {"true": AS_USUAL, "false": 0.0}.get(value.lower())
    if known is not None:
        return known
    if NUMBER.fullmatch(value) is None or float(value) > LONGEST_WAIT_S:
        raise ValueError(f"use true, false or a number of seconds up to {LONGEST_WAIT_S:.0f}")
    return float(value)


WaitParameter = Annotated[
    float | None,
    BeforeValidator(_seconds),
    WAIT_SCHEMA,
    Query(description="Wait until the job is over: true for as long as is usual (300 s), or so many seconds."),
]


@router.post("/jobs", status_code=201, responses=ANSWERS)
@needs(Scope.WRITE, "not_found", "duplicate_key", "saturated", *FORM_PROBLEMS)
async def create(
    request: Request,
    body: Annotated[NewJob, Body()],
    engine: EngineDep,
    store: StoreDep,
    caller: CallerDep,
    once: OnceDep,
    wait: WaitParameter = None,
) -> Response:
    """Create a job of a declared task, or of a command for the sandbox."""
    spec = spec_of(engine, body, origin_of(request, caller))
    wait_s = _wait_s(wait, body, request.app.state.settings)

    async def make(ask: Ask) -> Facts:
        return await store.jobs.make([spec], ask)

    tell = _tell(body, store.tables)
    if not wait_s:
        return await once.run(make, tell)
    async with place(request.app, store, spec.queue):
        return await once.run(make, tell, then=partial(_awaited, request, store, wait_s))


def _wait_s(parameter: float | None, body: TaskJob | TypedJob, settings: ApiSettings) -> float:
    """How long to wait: the parameter's word before the body's, and no longer than this server does."""
    wanted = body.wait if parameter is None else parameter
    return min(settings.wait_s if wanted is None or wanted == AS_USUAL else wanted, settings.longest_wait_s)


def _tell(body: TaskJob | TypedJob, tables: Mapping[str, Lifecycle]) -> Callable[[Facts], Reply]:
    def tell(done: Facts) -> Reply:
        made = done.one
        more: dict[str, Any] = {"created": made.created}
        if not made.created:
            more["message"] = EXISTS.format(what=form_of(body).key if isinstance(body, TypedJob) else "key")
        return job_answer(done, made.job_id, tables, 201 if made.created else 200, **more)

    return tell


async def _awaited(request: Request, store: Store, wait_s: float, made: Reply) -> Reply:
    """The finished job in place of the created one; 202 and the job as it stands when the time is over."""
    answer = json.loads(made.body)
    over = await over_by_then(request, store, answer["id"], wait_s)
    kept = {name: answer[name] for name in ("created", "message") if name in answer}
    return await job_as_it_is(store, answer["id"], 202 if over is None else 200, **kept)
