"""The trace of a job: from the request that submits it, over its events, to the calls that its handler makes.

Without OpenTelemetry ids go along and nothing else happens. Where the application has loaded it, whoever submits has a
span "send …", every run of a handler a span "process …" below it, and `headers` are those of the span that is open.
It is never imported here: an application that wants spans has done so.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote

from holdfast.observe.current import Current, current
from holdfast.observe.subjects import SomeJob, SomeSpec
from holdfast.observe.traceparent import SpanPlace, into_options, is_trace_id, new_span_id, of_options, parse

CORRELATION = "X-Correlation-Id"
S = TypeVar("S", bound=SomeSpec)


def spans() -> Any:
    """The module that makes spans, where the application has loaded OpenTelemetry; else None."""
    if "opentelemetry.trace" not in sys.modules:
        return None
    from holdfast.observe import otel

    return otel


@contextmanager
def send(specs: Sequence[S]) -> Iterator[Sequence[S]]:
    """Around a submit: the specs as they are to be stored, with the trace that they are sent from."""
    running, maker = current.get(), spans()
    if not specs or (running is None and maker is None):
        yield specs
    elif maker is None:
        yield _marked(specs, running.trace_id if running else None, parse(running.traceparent) if running else None)
    else:
        with maker.sending(specs) as place:
            yield _marked(specs, place.trace_id, place) if place else specs


def _marked(specs: Sequence[S], trace_id: str | None, place: SpanPlace | None) -> list[S]:
    """A spec that names a trace of its own keeps it, and is not put below a span of another."""
    marked: list[S] = []
    for spec in specs:
        own = spec.trace_id or trace_id
        options = spec.options
        if place is not None and place.trace_id == own:
            options = into_options(options, place)
        marked.append(spec._replace(trace_id=own, options=options))
    return marked


class TracedRun:
    """A block of work on somebody's behalf: what runs inside knows it, and it is a span where spans are made."""

    __slots__ = ("_running", "_token", "span")

    def __init__(self, running: Current, span: Any = None) -> None:
        self._running = running
        self.span = span

    def __enter__(self) -> Self:
        running = self._running
        if self.span is not None and (place := self.span.begin()) is not None:
            running = running._replace(trace_id=running.trace_id or place.trace_id, traceparent=str(place))
        self._running = running
        self._token = current.set(running)
        return self

    @property
    def trace_id(self) -> str | None:
        """The trace that it is part of."""
        return self._running.trace_id

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not GeneratorExit:  # thrown away rather than ended, and not by who began it
            current.reset(self._token)
        if self.span is not None:
            self.span.end(error)

    def ended(self, outcome: object) -> None:
        """What a run ended with: a failure is one of its span, whether it is tried again or not."""
        if self.span is not None:
            self.span.failed(getattr(outcome, "failure", None))

    def answered(self, status: int, route: str | None) -> None:
        """What a request was answered."""
        if self.span is not None:
            self.span.answered(status, route)


def process(job: SomeJob) -> TracedRun:
    """Around the run of a job's handler, wherever that runs."""
    place, maker = of_options(job.options, job.trace_id), spans()
    traceparent = None if place is None else str(place)
    running = Current(job.trace_id, traceparent, job.correlation_id or job.id, job.id, job.attempt)
    return TracedRun(running, None if maker is None else maker.processing(job, place))


def request(method: str, path: str, traceparent: str | None, correlation_id: str | None) -> TracedRun:
    """Around an HTTP request that this process answers; where a framework has made a span of it, on behalf of that."""
    place, maker = parse(traceparent), spans()
    if maker is not None and (made := maker.open_place()) is not None:
        return TracedRun(Current(made.trace_id, str(made), correlation_id))
    running = Current(place.trace_id if place else None, str(place) if place else None, correlation_id)
    return TracedRun(running, None if maker is None else maker.serving(method, path, place))


def resumed(job: SomeJob, carried: Mapping[str, str]) -> TracedRun:
    """Around a handler in another process than its span: `carried` are the `headers` of that."""
    traceparent, maker = carried.get("traceparent"), spans()
    running = Current(job.trace_id, traceparent, job.correlation_id or job.id, job.id, job.attempt)
    return TracedRun(running, None if maker is None else maker.Elsewhere(carried))


def headers() -> dict[str, str]:
    """To be sent with every call that a handler makes: its trace, and the correlation that its job belongs to."""
    found: dict[str, str] = {}
    if (maker := spans()) is not None:
        maker.inject(found)
    if (running := current.get()) is not None:
        if "traceparent" not in found:
            if running.traceparent is not None:
                found["traceparent"] = running.traceparent
            elif is_trace_id(running.trace_id):
                found["traceparent"] = str(SpanPlace(running.trace_id, new_span_id()))
        if running.correlation_id is not None:
            # Users may correlate by any text; a header holds visible ASCII.
            found[CORRELATION] = quote(running.correlation_id, safe="!#$&'()*+,/:;=?@[]~ ").strip()
    return found
