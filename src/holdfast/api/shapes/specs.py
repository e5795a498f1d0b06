"""From what a client asks for to the spec of a job: the task is known here, its arguments fit, the trace goes on."""

from __future__ import annotations

from typing import NamedTuple

from fastapi import Request

from holdfast.api.access.keys import Caller
from holdfast.api.problems.kinds import missing, refusal
from holdfast.api.shapes.bodies import CommandJob, TaskJob
from holdfast.kernel.errors import HoldfastError, PayloadError
from holdfast.kernel.job import Spec
from holdfast.runtime.engine import Engine
from holdfast.runtime.task import Task
from holdfast.systems.sandbox.command_jobs import command_spec
from holdfast.tasks.signature import ArgumentsError

SHOWN = 200
"""Of very many declared tasks no more are listed."""

NOT_OPTIONS = {"task", "args", "wait"}


class Origin(NamedTuple):
    """Who asks, and the trace and the correlation that the request is part of."""

    actor: str
    trace_id: str | None
    correlation_id: str | None


def origin_of(request: Request, caller: Caller) -> Origin:
    return Origin(caller.name, request.state.trace_id, request.state.correlation_id)


def spec_of(engine: Engine, body: TaskJob | CommandJob, origin: Origin) -> Spec:
    """The job that a body asks for, or Problem that names the field."""
    if isinstance(body, CommandJob):
        return command_spec(body, actor=origin.actor, correlation_id=origin.correlation_id, trace_id=origin.trace_id)
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
