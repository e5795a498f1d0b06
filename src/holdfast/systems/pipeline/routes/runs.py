"""/pipeline/jobs: start a run of a pipeline, list runs, show one with its stages, cancel it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import ConfigDict, Field
from starlette.responses import Response
from uuid_utils import uuid4

from holdfast.api.access.keys import Scope
from holdfast.api.access.scopes import needs
from holdfast.api.deps import CallerDep, EngineDep, StoreDep
from holdfast.api.jobs.idempotency import OnceDep, Reply, reply
from holdfast.api.jobs.read import page_of_kind
from holdfast.api.problems.kinds import missing, refusal
from holdfast.api.shapes import jobs as schemas
from holdfast.api.shapes.bodies import Args, Body, Cancel, Key, Text
from holdfast.api.shapes.forms import Asker, origin_of
from holdfast.api.shapes.pages import DEFAULT, Cursor, Limit
from holdfast.kernel import decisions
from holdfast.kernel.decisions import Decision, Stands, Stay
from holdfast.kernel.errors import HoldfastError, NotFoundError
from holdfast.kernel.job import Job, Spec
from holdfast.kernel.state import OVER, RANK
from holdfast.runtime.inside import Inside
from holdfast.store.port import Ask, Facts, Store
from holdfast.systems.pipeline.declare.pipeline import Pipeline
from holdfast.systems.pipeline.views import declared_stages, pipeline_job, pipeline_views

LIFECYCLE = "pipeline"
router = APIRouter(tags=["pipelines"])


class NewRun(Body):
    """A run of a pipeline that is declared here."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        json_schema_extra={"examples": [{"pipeline": "news_brief", "config": {"enable_evaluation": True}}]},
    )

    pipeline: Text
    config: Args = Field(default_factory=dict)
    key: Key | None = None
    duplicates: Literal["return", "reject"] | None = None


class Started(schemas.Shown):
    """Where a run is to be found."""

    job_id: str = Field(examples=[schemas.JOB_ID])
    trace_id: str
    status_url: str = Field(examples=[f"/api/pipeline/jobs/{schemas.JOB_ID}"])
    stream_url: str = Field(examples=[f"/api/pipeline/jobs/{schemas.JOB_ID}/stream"])
    created: bool = Field(description="False: a run was under way, or has the same key, and this is it.")
    message: str | None = None


class StageShown(schemas.Shown):
    """One stage of a run."""

    name: str = Field(examples=["classify"])
    status: Literal["pending", "running", "completed", "partial", "failed", "skipped"]
    duration_ms: int | None
    metrics: dict[str, Any]
    errors: list[dict[str, Any]]
    reason: str | None
    progress: dict[str, Any] | None
    finished_at: str | None


class PipelineJob(schemas.Job):
    """A run: a job, with its stages."""

    stages: list[StageShown]


class CancelAnswer(schemas.Shown):
    cancelled: bool
    reason: str | None = Field(None, examples=["Job is already COMPLETED"])


@router.post(
    "/pipeline/jobs",
    status_code=202,
    response_model=Started,
    responses={200: {"description": "A run was under way (`created` is false).", "model": Started}},
)
@needs(Scope.WRITE, "not_found", "duplicate_key")
async def start(request: Request, body: NewRun, engine: EngineDep, caller: CallerDep, once: OnceDep) -> Response:
    """Start a run. Of a pipeline that runs alone, the run that is under way is the answer, or a 409 if asked for."""
    spec = _spec(engine, body, origin_of(request, caller))

    async def make(ask: Ask) -> Facts:
        return await once.store.jobs.make([spec], ask)

    return await once.run(make, lambda done: _started(done.jobs[done.one.job_id], done.one.created))


def _spec(engine: Inside, body: NewRun, origin: Asker) -> Spec:
    known = engine.registry.wholes(Pipeline)
    if body.pipeline not in known:
        words = f"declared here: {', '.join(sorted(known))}" if known else "none is declared here"
        raise missing("pipeline", body.pipeline, words, field="pipeline", allowed=sorted(known))
    options = {"key": body.key, "duplicates": body.duplicates, "correlation_id": origin.correlation_id}
    trace_id = origin.trace_id or uuid4().hex
    try:
        chosen = known[body.pipeline].options(**options, trace_id=trace_id)
        return chosen.spec(body.config, {})._replace(actor=origin.actor)
    except HoldfastError as wrong:
        raise refusal("invalid_field", wrong) from None


def _started(job: Job, created: bool) -> Reply:
    own = f"/api/pipeline/jobs/{job.id}"
    answer: dict[str, Any] = {"job_id": job.id, "trace_id": job.trace_id or "", "status_url": own}
    answer |= {"stream_url": f"{own}/stream", "created": created}
    if not created:
        answer["message"] = "a run is under way, or has this key; it is the answer, and nothing was started"
    return reply(202 if created else 200, answer, Location=own)


@router.get("/pipeline/jobs", response_model=schemas.Page[PipelineJob], response_model_exclude_unset=True)
@needs(Scope.READ)
async def list_runs(
    store: StoreDep,
    state: Annotated[list[str] | None, Query(description="PENDING, RUNNING, …; may be given several times.")] = None,
    pipeline: Annotated[str | None, Query()] = None,
    limit: Limit = DEFAULT,
    cursor: Cursor = None,
) -> dict[str, Any]:
    """List runs, newest first, each with its stages."""
    where = {"state": sorted(set(state or ())), "pipeline": pipeline}
    found, next_cursor = await page_of_kind(store, LIFECYCLE, where, "pipeline", limit, cursor)
    return {"items": await pipeline_views(store, found), "next_cursor": next_cursor}


@router.get("/pipeline/jobs/{id}", response_model=PipelineJob, response_model_exclude_unset=True)
@needs(Scope.READ)
async def show_run(id: str, engine: EngineDep, store: StoreDep) -> dict[str, Any]:
    """Show a run with its stages: how far each is, what it counted, what went wrong."""
    job = await run_of(store, id)
    [view] = await pipeline_views(store, [job], declared_stages(engine, job.task))
    return view


@router.post("/pipeline/jobs/{id}/cancel", response_model=CancelAnswer, response_model_exclude_unset=True)
@needs(Scope.WRITE)
async def cancel(id: str, once: OnceDep, body: Cancel | None = None) -> Response:
    """Cancel a run: at once when it has not begun, else its stage is interrupted."""
    job = await run_of(once.store, id)
    asked = body or Cancel()

    decide = decisions.cancel(asked.reason or "cancelled", asked.mode)

    def unless_over(stands: Stands) -> Decision:
        return Stay() if RANK[stands.job.state] >= OVER else decide(stands)

    async def change(ask: Ask) -> Facts:
        return await once.store.jobs.change([job.id], unless_over, ask)

    return await once.run(change, lambda done: _cancelled(once.store, done.jobs[job.id], job.id in done.moved))


def _cancelled(store: Store, job: Job, by_this: bool) -> Reply:
    if by_this:
        return reply(200, {"cancelled": True})
    state = store.tables[job.lifecycle].state(job.state)
    return reply(200, {"cancelled": False, "reason": f"Job is already {state}"})


async def run_of(store: Store, job_id: str) -> Job:
    """The run with this id, or a problem."""
    try:
        return await pipeline_job(store, job_id)
    except NotFoundError:
        raise missing("pipeline job", job_id, "GET /api/pipeline/jobs lists those that there are") from None
