"""What belongs to a job, and what stands beside jobs, as the outside sees it."""

from __future__ import annotations

import json
from typing import Any

from holdfast.catalog import KNOWN
from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.store.port import Artifact, Attempt, ScheduleRow, SignalRow
from holdfast.tasks.registry import TaskDef
from holdfast.views.explain import Explanation
from holdfast.views.job import fields_of, iso, label


def attempt_view(attempt: Attempt) -> dict[str, Any]:
    """`end` is the type of the event that ended it; `detail` what that event carried, such as the error."""
    detail = None if attempt.error is None else json.loads(attempt.error)
    return fields_of(attempt, "number", "owner", "started_at", "ended_at", "end", "reason", "detail", detail=detail)


def log_view(signal: SignalRow) -> dict[str, Any]:
    """One line of a job's own log. Its time is the handler's; `id` leads on to what was said after it."""
    line = json.loads(signal.payload) if signal.payload else {}
    line = line if isinstance(line, dict) else {"event": str(line)}
    at_ms = line.get("time_ms")
    return {
        "id": signal.id,
        "at": iso(at_ms if isinstance(at_ms, int) else signal.at_ms),
        "level": str(line.get("level", "info")),
        "event": str(line.get("event", "")),
        "fields": line.get("fields") or {},
        "attempt": signal.attempt,
        "actor": signal.actor,
    }


def log_text(line: dict[str, Any]) -> str:
    """A line of the log for eyes: time, level, event and `key=value`."""
    fields = "".join(f" {name}={json.dumps(value, ensure_ascii=False)}" for name, value in line["fields"].items())
    return f"{line['at']} {line['level']:7} {line['event']}{fields}".replace("\n", "\\n")


def artifact_view(artifact: Artifact) -> dict[str, Any]:
    return fields_of(artifact, "name", "size", "at")


def explanation_view(job: Job, table: Lifecycle, explanation: Explanation) -> dict[str, Any]:
    return {
        "id": job.id,
        "state": label(table, job.state),
        "canonical_state": job.state,
        "sentence": explanation.sentence,
        "command": explanation.command,
    }


def lifecycle_line(table: Lifecycle) -> dict[str, Any]:
    """A lifecycle in a list; the whole of it is `Lifecycle.to_dict`."""
    return {
        "name": table.name,
        "built_in": table.name in KNOWN,
        "states": [str(state) for state in table.states],
        "transitions": len(table.transitions),
    }


def schedule_view(row: ScheduleRow) -> dict[str, Any]:
    names = ("name", "task", "args", "cron", "timezone", "missed", "paused", "last_at", "next_at")
    last_at, next_at = iso(row.last_tick_ms), iso(row.next_tick_ms)
    return fields_of(row, *names, args=json.loads(row.args), last_at=last_at, next_at=next_at)


def task_view(task: TaskDef) -> dict[str, Any]:
    """A declared task; `parameters` is the JSON Schema of the arguments that it takes."""
    return {
        "name": task.name,
        "lifecycle": task.lifecycle.name,
        "queue": task.queue,
        "priority": task.priority,
        "max_attempts": task.retry.max_tries,
        "lease_seconds": task.lease_ms / 1000,
        "timeout_seconds": None if task.timeout_ms is None else task.timeout_ms / 1000,
        "on_exhausted": str(task.on_exhausted),
        "doc": _first_line(task.work.doc),
        "parameters": task.work.schema(),
    }


def _first_line(doc: str | None) -> str | None:
    return doc.strip().partition("\n")[0] if doc and doc.strip() else None
