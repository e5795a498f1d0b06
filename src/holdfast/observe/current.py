"""What runs here and now, and on whose behalf: a request, a job's handler, or nothing in particular.

It follows the flow of control as context variables do, so that log lines, submits and outgoing calls know it.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import NamedTuple


class Current(NamedTuple):
    """A request or a run of a job. `traceparent` is what its caller sent, or what its own span is called."""

    trace_id: str | None = None
    traceparent: str | None = None
    correlation_id: str | None = None
    job_id: str | None = None
    attempt: int | None = None

    def fields(self) -> dict[str, str | int]:
        """What a log line says of it."""
        names = ("job_id", "attempt", "correlation_id", "trace_id")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


current: ContextVar[Current | None] = ContextVar("holdfast_current", default=None)
