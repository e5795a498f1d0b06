"""POST /jobs/batch: up to a thousand jobs in one transaction, all of them or none."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from holdfast.api.access.keys import Scope
from holdfast.api.access.scopes import needs
from holdfast.api.deps import CallerDep, EngineDep
from holdfast.api.jobs.idempotency import OnceDep, Reply, reply
from holdfast.api.problems.kinds import Problem, refusal
from holdfast.api.shapes.change import BatchAnswer
from holdfast.api.shapes.forms import Asker, origin_of
from holdfast.api.shapes.new_jobs import FORM_PROBLEMS, Batch, spec_of
from holdfast.kernel.errors import DuplicateKeyError
from holdfast.kernel.job import Spec
from holdfast.runtime.inside import Inside
from holdfast.store.port import Ask, Facts, Submitted

router = APIRouter(tags=["jobs"])
SHOWN = 20
"""Of very many wrong fields no more are told."""


ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"model": BatchAnswer, "description": "All of them exist already."},
    201: {"model": BatchAnswer, "description": "Created; `created` says how many of them."},
}


@router.post("/jobs/batch", status_code=201, responses=ANSWERS)
@needs(Scope.WRITE, "duplicate_key", *FORM_PROBLEMS)
async def create_batch(request: Request, body: Batch, engine: EngineDep, caller: CallerDep, once: OnceDep) -> Response:
    """Create many jobs together. When one of them is wrong, none is created, and its index is told."""
    specs = _specs(engine, body, origin_of(request, caller))

    async def make(ask: Ask) -> Facts:
        try:
            return await once.store.jobs.make(specs, ask)
        except DuplicateKeyError as held:
            at = next(i for i, spec in enumerate(specs) if spec.key == held.key and _scope(spec) == held.scope)
            raise refusal("duplicate_key", held, field=f"jobs[{at}].key") from None

    return await once.run(make, lambda done: _answer(specs, done.made))


def _specs(engine: Inside, body: Batch, origin: Asker) -> list[Spec]:
    specs: list[Spec] = []
    wrong: list[Problem] = []
    for at, item in enumerate(body.jobs):
        try:
            if item.wait != 0:
                raise Problem("invalid_field", "jobs of a batch are not waited for", field="wait")
            specs.append(spec_of(engine, item, origin))
        except Problem as problem:
            problem.field = f"jobs[{at}]" + (f".{problem.field}" if problem.field else "")
            wrong.append(problem)
    if wrong:
        first = wrong[0]
        details = [{"field": each.field, "detail": each.detail} for each in wrong[:SHOWN]]
        raise Problem(
            # A task that does not exist is here a field that is wrong, not a path.
            "invalid_field" if first.code == "not_found" else first.code,
            f"{first.field}: {first.detail}",
            field=first.field,
            allowed=first.allowed,
            about=first.about,
            errors=details if len(details) > 1 else (),
        )
    return specs


def _answer(specs: list[Spec], answers: list[Submitted]) -> Reply:
    items: list[dict[str, Any]] = [
        {
            "id": answer.job_id,
            "created": answer.created,
            "task": spec.task,
            "queue": spec.queue,
            "key": spec.key,
            "links": {"self": f"/api/jobs/{answer.job_id}"},
        }
        for spec, answer in zip(specs, answers, strict=True)
    ]
    created = sum(answer.created for answer in answers)
    return reply(201 if created else 200, {"items": items, "count": len(items), "created": created})


def _scope(spec: Spec) -> str:
    return spec.key_scope or spec.task
