"""Forms in which a job can be asked for, beside that of a declared task: what a system brings one as."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from fastapi import Request

from holdfast.api.access.keys import Caller
from holdfast.api.shapes.bodies import Body
from holdfast.kernel.job import Spec


class Asker(NamedTuple):
    """Who asks, and the trace and the correlation that the request is part of."""

    actor: str
    trace_id: str | None
    correlation_id: str | None


def origin_of(request: Request, caller: Caller) -> Asker:
    return Asker(caller.name, request.state.trace_id, request.state.correlation_id)


class TypedJob(Body):
    """A job that is asked for by its type: what the bodies of all forms have."""

    if TYPE_CHECKING:
        type: Any
        wait: float | None


class Form(NamedTuple):
    """A way to ask for a job otherwise than by a task's name."""

    body: type[TypedJob]
    types: tuple[str, ...]
    """What `type` says in it."""
    spec: Callable[[Any, Asker], Spec]
    """From a body to the job, or Problem that names the field."""
    key: str
    """Its field that makes a repeat find the job again."""
    problems: tuple[str, ...] = ()
    """Codes of what may be wrong with it alone."""
