"""From what a client asks for to the spec of a job: the task is known here, its arguments fit, the trace goes on."""

from __future__ import annotations

from holdfast.api.problems.kinds import missing, refusal
from holdfast.api.shapes.bodies import TaskJob
from holdfast.api.shapes.forms import Asker, TypedJob
from holdfast.api.shapes.new_jobs import form_of
from holdfast.kernel.errors import HoldfastError, PayloadError
from holdfast.kernel.job import Spec
from holdfast.runtime.inside import Inside
from holdfast.runtime.task import Task
from holdfast.tasks.signature import ArgumentsError

SHOWN = 200
"""Of very many declared tasks no more are listed."""

NOT_OPTIONS = {"task", "args", "wait"}


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
