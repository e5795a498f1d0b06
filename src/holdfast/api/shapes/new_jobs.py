"""Jobs as they are asked for, of a task that is declared here or in a form that a system brings, and their specs."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, Field, ValidatorFunctionWrapHandler, WrapValidator

from holdfast import catalog
from holdfast.api.problems.kinds import missing, refusal
from holdfast.api.shapes.bodies import MOST_JOBS, Body, TaskJob
from holdfast.api.shapes.forms import Asker, Form, TypedJob
from holdfast.kernel.errors import HoldfastError, PayloadError
from holdfast.kernel.job import Spec
from holdfast.runtime.inside import Inside
from holdfast.runtime.task import Task
from holdfast.tasks.signature import ArgumentsError

SHOWN = 200
"""Of very many declared tasks no more are listed."""

NOT_OPTIONS = {"task", "args", "wait"}

FORMS: list[Form] = catalog.brought("forms")
FORM_PROBLEMS = tuple(code for form in FORMS for code in form.problems)


def form_of(body: TypedJob) -> Form:
    return next(form for form in FORMS if isinstance(body, form.body))


def _of_its_form(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    """The form is chosen by `type`, and only its own errors are told. An unknown type is for the first to refuse."""
    if isinstance(value, BaseModel):
        return value
    if not FORMS or not isinstance(value, dict) or "type" not in value:
        return TaskJob.model_validate(value)
    form = next((form for form in FORMS if value["type"] in form.types), FORMS[0])
    return form.body.model_validate(value)


if TYPE_CHECKING:
    NewJob = TaskJob | TypedJob
else:
    NewJob = Annotated[reduce(or_, (form.body for form in FORMS), TaskJob), WrapValidator(_of_its_form)]


class Batch(Body):
    """Jobs that are created together, or none of them."""

    jobs: Annotated[list[NewJob], Field(min_length=1, max_length=MOST_JOBS)]


def spec_of(engine: Inside, body: TaskJob | TypedJob, origin: Asker) -> Spec:
    """The job that a body asks for, or Problem that names the field."""
    if isinstance(body, TypedJob):
        return form_of(body).spec(body, origin)
    definition = engine.registry.find(body.task)
    if definition is None:
        known = sorted(task.name for task in engine.registry)[:SHOWN]
        declared = f"declared here: {', '.join(known)}" if known else "no task is declared here"
        raise missing("task", body.task, declared, field="task", allowed=known)
    options = body.model_dump(exclude=NOT_OPTIONS, exclude_none=True)
    if "tags" in options:
        options["tags"] = tuple(options["tags"])
    options.setdefault("correlation_id", origin.correlation_id)
    try:
        payload = definition.work.pack_named(body.args)
    except (ArgumentsError, PayloadError) as wrong:
        field = "args" if wrong.field is None else wrong.field
        raise refusal("invalid_field", wrong, field=field if field.startswith("args") else f"args.{field}") from None
    try:
        task: Task[..., object] = Task(engine, definition)
        spec = task.options(**options, trace_id=origin.trace_id).spec_of(payload)
    except HoldfastError as wrong:
        raise refusal("invalid_field", wrong) from None
    return spec._replace(actor=origin.actor)
