"""Jobs and events as the outside sees them: one shape for the command line, the API and the library."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from holdfast.kernel.event import PROGRESS, Event
from holdfast.kernel.job import Job, correlation_of
from holdfast.kernel.lifecycle import Command, Lifecycle
from holdfast.kernel.state import OVER, RANK
from holdfast.store.port import SignalRow
from holdfast.views.of_systems import views_of


def job_view(job: Job, lifecycle: Lifecycle | None, signals: Sequence[SignalRow] = ()) -> dict[str, Any]:
    """A job's public shape, with fields of its lifecycle's own behind those that all jobs have.

    Without its lifecycle (another version's, say) states show as canonical.
    """
    outcome = _parsed(job.outcome) or {}
    lease = None
    if job.lease_owner is not None:
        lease = {"owner": job.lease_owner, "until": iso(job.lease_until_ms)}
    return {
        "id": job.id,
        "task": job.task,
        "lifecycle": job.lifecycle,
        "state": label(lifecycle, job.state),
        "canonical_state": job.state,
        "queue": job.queue,
        "priority": job.priority,
        "attempt": job.attempt,
        "max_attempts": job.max_tries,
        "tries": job.tries,
        "created_at": iso(job.created_at_ms),
        "started_at": iso(job.started_at_ms),
        "finished_at": iso(job.finished_at_ms),
        "updated_at": iso(_updated_at_ms(job)),
        "due_at": iso(job.due_at_ms),
        "expires_at": iso(job.expires_at_ms),
        "keep_until": iso(job.keep_until_ms),
        "lease": lease,
        "cancel_requested": job.cancel_requested,
        "progress": progress_view(job, signals, outcome.get("progress")),
        "error": outcome.get("error"),
        "result": outcome.get("result"),
        "partial": outcome.get("partial", False),
        "output_metadata": outcome.get("output_metadata"),
        "payload": _parsed(job.payload),
        "key": job.key,
        "tags": _parsed(job.tags),
        "parent_id": job.parent_id,
        "correlation_id": correlation_of(job),
        "trace_id": job.trace_id,
        "version": job.version,
        "links": links(job, lifecycle),
        **({} if lifecycle is None else views_of(job.lifecycle).fields(job, lifecycle)),
    }


def event_view(event: Event, lifecycle: Lifecycle | None) -> dict[str, Any]:
    """An event's public shape; `from` and `to` are the lifecycle's own labels."""
    return {
        "seq": event.seq,
        "type": event.type,
        "from": None if event.from_state is None else label(lifecycle, event.from_state),
        "to": label(lifecycle, event.to_state),
        "from_canonical": event.from_state,
        "to_canonical": event.to_state,
        "at": iso(event.at_ms),
        "actor": event.actor,
        "attempt": event.attempt,
        "reason": event.reason,
        "cause": event.cause,
        "payload": _parsed(event.payload),
        "correlation_id": event.correlation_id or event.job_id,
        "trace_id": event.trace_id,
        "version": event.schema_version,
        "id": event.pos,
        "job_id": event.job_id,
    }


def _updated_at_ms(job: Job) -> int:
    """When it last changed or its worker last renewed its lease, which is a sign of life too."""
    renewed_ms = 0 if job.lease_until_ms is None else job.lease_until_ms - job.lease_ms
    return max(job.changed_at_ms, renewed_ms)


def progress_view(
    job: Job, signals: Sequence[SignalRow], last: Mapping[str, Any] | None = None
) -> dict[str, Any] | None:
    """How far the job is, as its current attempt last said; None when it said nothing.

    `last` is what stands beside the outcome of a job that is over: the last word, however many signals are gone.
    """
    if last is not None and RANK[job.state] >= OVER:
        return {"done": last["done"], "total": last["total"], "eta_seconds": None, "counters": last["counters"]}
    reports = [s for s in signals if s.type == PROGRESS and s.attempt == job.attempt and s.payload]
    if not reports:
        return None
    latest = max(reports, key=lambda signal: signal.id)
    data: Mapping[str, Any] = _parsed(latest.payload) or {}
    done, total = data.get("done"), data.get("total")
    eta = data.get("eta_seconds") if RANK[job.state] < OVER else None
    if eta is None and done and total and job.started_at_ms is not None and RANK[job.state] < OVER:
        eta = round((latest.at_ms - job.started_at_ms) / done * max(total - done, 0) / 1000, 1)
    return {"done": done, "total": total, "eta_seconds": eta, "counters": data.get("counters") or {}}


def links(job: Job, lifecycle: Lifecycle | None) -> dict[str, str]:
    """Where to go from this job: what can be read of it, and what may be done to it now."""
    own = f"/api/jobs/{job.id}"
    parts = ["events", "attempts", "explain", "certificate"]
    if RANK[job.state] >= OVER:
        parts.append("result")
    allowed = lifecycle.commands(job.state) if lifecycle else ()
    parts += [command for command in (Command.CANCEL, Command.RESUME) if command in allowed]
    return {"self": own} | {part: f"{own}/{part}" for part in map(str, parts)}


def label(lifecycle: Lifecycle | None, canonical: str) -> str:
    """What the job's lifecycle calls a state."""
    return canonical if lifecycle is None else str(lifecycle.state(canonical))


def _parsed(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def fields_of(row: object, *names: str, **besides: Any) -> dict[str, Any]:
    """What is shown of a row, in this order: its fields as they are, as `at` the time of its `at_ms`, and `besides`."""

    def field(name: str) -> Any:
        return iso(getattr(row, f"{name}_ms")) if name == "at" or name.endswith("_at") else getattr(row, name)

    return {name: besides[name] if name in besides else field(name) for name in names}


def iso(at_ms: int | None) -> str | None:
    """A time as ISO 8601 in UTC, with milliseconds."""
    if at_ms is None:
        return None
    seconds, ms = divmod(at_ms, 1000)
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        # Far beyond any calendar, as "never" is sometimes written.
        return None
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ms:03d}Z"
