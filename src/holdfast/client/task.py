"""A task that is declared here for its types and its name, and runs where the API's workers are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.job import Spec
from holdfast.observe.traceparent import SpanPlace, is_trace_id, new_span_id
from holdfast.runtime.handle import JobHandle
from holdfast.runtime.task import OptionNames, Options, Task
from holdfast.tasks.durations import duration_ms

if TYPE_CHECKING:
    from holdfast.client.inside import RemoteInside

P = ParamSpec("P")
R = TypeVar("R")
DURATIONS = ("delay", "expires", "key_window", "timeout", "retry_delay")
NOT_SENT = {
    "connection": "the job is made by the API, in a transaction of its own",
    "parent_id": "leave it out: an API makes jobs without parents",
}


class RemoteTask(Task[P, R]):
    """What its declaration says of queue, retries and the like is for workers: the API's own declaration counts."""

    engine: RemoteInside

    def options(self, **given: Unpack[OptionNames]) -> RemoteTask[P, R]:
        return RemoteTask(self.engine, self.definition, super().options(**given)._options)

    def _submit(self, specs: list[Spec]) -> list[JobHandle[R]]:
        return self._handles(self.engine.portal.call(self._create(specs)))

    async def _asubmit(self, specs: list[Spec]) -> list[JobHandle[R]]:
        return self._handles(await self.engine.portal.hop(self._create(specs)))

    async def _create(self, specs: list[Spec]) -> list[str]:
        options_sent, trace = sent(self._options)
        bodies = [
            {"task": spec.task, "args": json.loads(spec.payload or "{}"), **_inherited(spec), **options_sent}
            for spec in specs
        ]
        return await self.engine.acreate(bodies, trace)


def sent(options: Options) -> tuple[dict[str, Any], dict[str, str]]:
    """Options as the API takes them, in the body and in the trace's header."""
    body: dict[str, Any] = {}
    trace: dict[str, str] = {}
    for name in Options.__dataclass_fields__:
        value = getattr(options, name)
        if value is None:
            continue
        if name in NOT_SENT:
            raise HoldfastError(f"{name} cannot be sent to an API", field=name, remedy=NOT_SENT[name])
        if name == "trace_id":
            trace = _traceparent(value)
        elif name in DURATIONS:
            body[name] = duration_ms(value, name) / 1_000
        else:
            body[name] = _plain(name, value)
    return body, trace


def _inherited(spec: Spec) -> Mapping[str, Any]:
    """What a job that is submitted from a handler has from that handler's own."""
    return {} if spec.correlation_id is None else {"correlation_id": spec.correlation_id}


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise HoldfastError(f"{name} has no time zone", field=name, remedy="pass an aware datetime")
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value


def _traceparent(trace_id: str) -> dict[str, str]:
    if not is_trace_id(trace_id):
        raise HoldfastError(f"trace_id is {trace_id!r}", field="trace_id", remedy="over HTTP it is 32 hex digits")
    return {"traceparent": str(SpanPlace(trace_id, new_span_id()))}
