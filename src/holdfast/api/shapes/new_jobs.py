"""Jobs as they are asked for: of a task that is declared here, or in a form that a system brings."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, Field, ValidatorFunctionWrapHandler, WrapValidator

from holdfast import catalog
from holdfast.api.shapes.bodies import MOST_JOBS, Body, TaskJob
from holdfast.api.shapes.forms import Form, TypedJob

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
