"""Looking at jobs: lists of them, and one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Request, Response

from holdfast.api.access.keys import Scope
from holdfast.api.access.query import refuse_unknown
from holdfast.api.access.scopes import needs
from holdfast.api.deps import StoreDep
from holdfast.api.problems.kinds import Problem, missing, refusal
from holdfast.api.shapes import jobs as schemas
from holdfast.api.shapes.pages import DEFAULT, STEPS, Cursor, Limit, before_of, cursor_of, gathered
from holdfast.kernel.errors import PayloadError
from holdfast.kernel.job import Job, is_id
from holdfast.store.port import Page, Store
from holdfast.views.job import job_view
from holdfast.views.listing import FilterError, job_views, list_jobs, state_names

STEPS_OF_A_KIND = 20_000
router = APIRouter(tags=["jobs"])

States = Annotated[
    list[str] | None, Query(description="A state by its label or canonical name; may be given several times.")
]
Named = Annotated[str | None, Query()]
Sought = Annotated[
    str | None,
    Query(description="The beginning of an id, a correlation id, a key, or a part of a task's name. Not tags."),
]


@router.get("/jobs", response_model=schemas.Page[schemas.Job], response_model_exclude_unset=True)
@needs(Scope.READ)
async def list_of_jobs(
    store: StoreDep,
    state: States = None,
    task: Named = None,
    queue: Named = None,
    lifecycle: Named = None,
    q: Sought = None,
    limit: Limit = DEFAULT,
    cursor: Cursor = None,
) -> dict[str, Any]:
    """List jobs, newest first."""
    where = {"state": sorted(set(state or ())), "task": task, "queue": queue, "lifecycle": lifecycle, "q": q}
    return await page_of(store, where, limit, cursor)


@router.get(
    "/jobs/{id}",
    response_model=schemas.Job | schemas.Page[schemas.Job],
    response_model_exclude_unset=True,
    responses={304: {"description": "It is still at the version that If-None-Match names."}},
)
@needs(Scope.READ)
async def one_job(
    id: Annotated[str, Path(description="A job's id, or the name of a state: then its jobs are listed.")],
    request: Request,
    response: Response,
    store: StoreDep,
    limit: Limit = DEFAULT,
    cursor: Cursor = None,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Any:
    """Show one job, or the jobs in a state."""
    if not is_id(id.lower()):
        return await _in_state(store, id, limit, cursor)
    refuse_unknown(request.query_params, ())
    seen = await store.reads.one(id.lower())
    if seen is None:
        raise _no_job(id)
    job = seen.job
    etag = f'"{job.version}"'
    # While it is worked on, its lease and progress change and its version does not: it is shown anew.
    if job.lease_owner is None and _matches(if_none_match, etag):
        return Response(status_code=304, headers={"ETag": etag})
    response.headers["ETag"] = etag
    return job_view(*seen)


async def job_of(store: Store, job_id: str) -> Job:
    """The job with this id, or a problem."""
    job = await store.reads.get(job_id.lower())
    if job is None:
        raise _no_job(job_id)
    return job


def _no_job(job_id: str) -> Problem:
    return missing("job", job_id, "GET /api/jobs lists those that there are")


async def page_of(store: Store, where: dict[str, Any], limit: int, cursor: str | None) -> dict[str, Any]:
    """A page of the jobs that a filter lets pass."""
    tables = await store.reads.lifecycles()
    given = {name: where[name] for name in ("task", "queue", "lifecycle", "q")}

    async def look(most: int, behind: str | None) -> Page:
        try:
            return await list_jobs(
                store.reads, tables, states=where["state"], **given, limit=most, cursor=behind, steps=STEPS
            )
        except (FilterError, PayloadError) as error:
            raise refusal("invalid_parameter", error) from None

    found, before = await gathered(look, limit, before_of(cursor, where))
    return {"items": await job_views(store.reads, tables, found), "next_cursor": cursor_of(before, where)}


async def page_of_kind(
    store: Store, lifecycle: str, where: dict[str, Any], called: str, limit: int, cursor: str | None
) -> tuple[Sequence[Job], str | None]:
    """A page of the jobs of one lifecycle; `called` is what the filter says in place of `task`."""
    chosen: dict[str, Any] = {"states": where["state"], "task": where[called], "lifecycle": lifecycle, "limit": limit}
    before = before_of(cursor, where)
    try:
        page = await list_jobs(store.reads, store.tables, **chosen, cursor=before, steps=STEPS_OF_A_KIND)
    except (FilterError, PayloadError) as error:
        raise refusal("invalid_parameter", error, field=called if error.field == "task" else None) from None
    return page.items, cursor_of(page.next_cursor, where)


async def _in_state(store: Store, name: str, limit: int, cursor: str | None) -> dict[str, Any]:
    tables = (await store.reads.lifecycles()).values()
    if not any(table.parse(name) for table in tables):
        detail = f"{name[:100]!r} is neither a job's id (a UUID) nor a state; states are: {state_names(tables)}"
        raise Problem("not_found", detail, field="id", allowed=state_names(tables).split(", "))
    where = {"state": [name], "task": None, "queue": None, "lifecycle": None, "q": None}
    return await page_of(store, where, limit, cursor)


def _matches(if_none_match: str | None, etag: str) -> bool:
    named = [part.strip().removeprefix("W/") for part in (if_none_match or "").split(",")]
    return etag in named or "*" in named
