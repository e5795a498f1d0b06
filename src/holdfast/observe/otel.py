"""Spans for OpenTelemetry, named after its conventions for messaging and HTTP. Imported once the application has it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from opentelemetry import context, propagate, trace
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, StatusCode, TraceFlags

from holdfast.observe.subjects import SomeJob, Subject
from holdfast.observe.traceparent import SpanPlace, is_trace_id

_tracer = trace.get_tracer("holdfast")


@contextmanager
def sending(specs: Sequence[Subject]) -> Iterator[SpanPlace | None]:
    """A span around a submit, and its place; None where nothing makes spans after all."""
    tasks = sorted({str(spec.task) for spec in specs})  # what is no text is refused later, with its reason
    name = f"send {tasks[0]}" if len(tasks) == 1 else "send"
    about = _messaging("send", specs[0].queue, specs[0].task if len(tasks) == 1 else None)
    if len(specs) == 1:
        about["messaging.message.id"] = specs[0].id
    else:
        about["messaging.batch.message_count"] = len(specs)
    with _tracer.start_as_current_span(name, kind=SpanKind.PRODUCER, attributes=about) as span:
        yield _place(span)


class OpenSpan:
    """A span that is current between `begin` and `end`."""

    def __init__(self, name: str, kind: SpanKind, about: Mapping[str, Any], parent: SpanPlace | None) -> None:
        self._name, self._kind, self._about, self._parent = name, kind, about, parent

    def begin(self) -> SpanPlace | None:
        above = None if self._parent is None else _remote(self._parent)
        links = [Link(above)] if above is not None and self._kind is SpanKind.CONSUMER else None
        # Below its own parent or none: what happens to be open around a worker's loop is not its business.
        around = trace.set_span_in_context(NonRecordingSpan(above or trace.INVALID_SPAN_CONTEXT), context.Context())
        self._span = _tracer.start_span(
            self._name, around, kind=self._kind, attributes=dict(self._about), links=links, record_exception=False
        )
        self._token = context.attach(trace.set_span_in_context(self._span))
        return _place(self._span)

    def end(self, error: BaseException | None) -> None:
        if not isinstance(error, GeneratorExit):
            context.detach(self._token)
        if error is not None:
            if isinstance(error, Exception):
                self._span.record_exception(error)
            self._span.set_attribute("error.type", type(error).__name__)
            self._span.set_status(StatusCode.ERROR, type(error).__name__)
        self._span.end()

    def failed(self, failure: Any) -> None:
        if failure is not None:
            self._span.set_attribute("error.type", getattr(failure, "code", type(failure).__name__))
            self._span.set_status(StatusCode.ERROR, str(getattr(failure, "message", failure)))

    def answered(self, status: int, route: str | None) -> None:
        self._span.set_attribute("http.response.status_code", status)
        if route is not None:
            self._span.set_attribute("http.route", route)
            self._span.update_name(f"{self._about['http.request.method']} {route}")
        if status >= 500:
            self._span.set_status(StatusCode.ERROR)


def processing(job: SomeJob, sent: SpanPlace | None) -> OpenSpan:
    """A span around a run, below the span that sent the job and linked to it."""
    about = _messaging("process", job.queue, job.task) | {
        "messaging.message.id": job.id,
        "holdfast.attempt": job.attempt,
        "holdfast.correlation_id": job.correlation_id or job.id,
    }
    if sent is None and is_trace_id(job.trace_id):
        # Its trace is known and no span of it: a scheduled or replayed job starts below its own id.
        sent = SpanPlace(job.trace_id, hashlib.sha256(job.id.encode()).hexdigest()[:16])
    return OpenSpan(f"process {job.task}", SpanKind.CONSUMER, about, sent)


def serving(method: str, path: str, caller: SpanPlace | None) -> OpenSpan:
    """A span around a request; its name is the route's, once that is known."""
    about = {"http.request.method": method, "url.path": path}
    return OpenSpan(method, SpanKind.SERVER, about, caller)


class Elsewhere:
    """Makes a span of another process current here: it is begun and ended there."""

    def __init__(self, carried: Mapping[str, str]) -> None:
        self._carried = carried

    def begin(self) -> SpanPlace | None:
        self._token = context.attach(propagate.extract(self._carried))
        return None

    def end(self, error: BaseException | None) -> None:
        context.detach(self._token)


def open_place() -> SpanPlace | None:
    """The span of this process that is open here."""
    span = trace.get_current_span()
    return None if span.get_span_context().is_remote else _place(span)


def inject(carrier: dict[str, str]) -> None:
    """The headers of the span that is open."""
    propagate.inject(carrier)


def _messaging(operation: str, queue: str, task: str | None) -> dict[str, Any]:
    about: dict[str, Any] = {
        "messaging.system": "holdfast",
        "messaging.operation.type": operation,
        "messaging.operation.name": operation,
        "messaging.destination.name": queue,
    }
    return about if task is None else about | {"holdfast.task": task}


def _remote(place: SpanPlace) -> SpanContext:
    return SpanContext(
        int(place.trace_id, 16), int(place.span_id, 16), is_remote=True, trace_flags=TraceFlags(place.flags)
    )


def _place(span: trace.Span) -> SpanPlace | None:
    found = span.get_span_context()
    if not found.is_valid:
        return None
    return SpanPlace(trace.format_trace_id(found.trace_id), trace.format_span_id(found.span_id), int(found.trace_flags))
