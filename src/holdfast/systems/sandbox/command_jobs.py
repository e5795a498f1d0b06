"""Commands for the sandbox, as they are asked for: checked, given their defaults, cut down to what a type may have."""

from __future__ import annotations

from typing import Any, NamedTuple

from uuid_utils import uuid7

from holdfast.api.problems.kinds import Problem
from holdfast.api.shapes.bodies import UNSTORABLE
from holdfast.api.shapes.forms import Asker, Form
from holdfast.kernel.errors import PayloadError
from holdfast.kernel.job import Spec
from holdfast.kernel.payload.encoding import encode
from holdfast.systems.sandbox.bodies import CommandJob
from holdfast.systems.sandbox.client_id import client_job_id
from holdfast.systems.sandbox.lifecycle import SANDBOX
from holdfast.systems.sandbox.problems import KINDS as PROBLEMS

TASK = "holdfast.command"
QUEUE = "sandbox"
DEFAULT_CPUS = 2
DEFAULT_MEMORY_GB = 4
MOST_MINUTES = 120
LONGEST_COMMAND = 10_000
LONGEST_TASK = 100_000


class CommandKind(NamedTuple):
    """What a type of job may have at most, and how long it runs unless it says so."""

    cpus: int
    memory_gb: int
    minutes: int


KINDS = {"worker": CommandKind(8, 16, 30), "agent": CommandKind(4, 8, 60)}


def command_spec(body: CommandJob, origin: Asker) -> Spec:
    """The job that a command becomes; Problem with the code of what is wrong. Too much of a resource is cut down."""
    kind = KINDS.get(body.type) if isinstance(body.type, str) else None
    if kind is None:
        raise Problem("invalid_job_type", "type is worker or agent", field="type", allowed=list(KINDS))
    if body.files_id is not None:
        raise Problem("upload_not_found", f"no upload {body.files_id!r}", field="files_id")
    payload = {
        "type": body.type,
        **_work(body),
        "context": body.context,
        "image": body.image,
        "cpus": _whole(body.cpus, DEFAULT_CPUS, kind.cpus, "cpus", "invalid_cpus"),
        "memory_gb": _whole(body.memory_gb, DEFAULT_MEMORY_GB, kind.memory_gb, "memory_gb", "invalid_memory"),
        "timeout_minutes": _whole(
            body.timeout_minutes, kind.minutes, MOST_MINUTES, "timeout_minutes", "invalid_timeout"
        ),
        "artifacts": body.artifacts,
        "network": body.network,
    }
    given = {name: value for name, value in payload.items() if value is not None}
    return Spec(
        id=str(uuid7()),
        lifecycle=SANDBOX.name,
        task=TASK,
        payload=encode(given, what="body"),
        queue=QUEUE,
        priority=body.priority,
        lease_ms=SANDBOX.policies.lease_ms,
        key=None if body.client_job_id is None else _client_id(body.client_job_id),
        correlation_id=body.correlation_id or origin.correlation_id,
        trace_id=origin.trace_id,
        tags=None if body.tags is None else encode(body.tags, what="tags"),
        actor=origin.actor,
    )


def _work(body: CommandJob) -> dict[str, str]:
    """What is to be done: a command, or the task that an agent is given."""
    if body.type == "agent" and body.command is None:
        return {"task": _words(body.task, "task", LONGEST_TASK, "missing_task")}
    if body.task is not None:
        raise Problem("invalid_field", "a command and a task contradict each other; send one of them", field="task")
    return {"command": _words(body.command, "command", LONGEST_COMMAND, "missing_command")}


def _words(value: Any, field: str, longest: int, code: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Problem(code, f"{field} is text of 1 to {longest:,} characters", field=field)
    if len(value) > longest:
        raise Problem("invalid_field", f"{field} has {len(value):,} characters, more than {longest:,}", field=field)
    if UNSTORABLE.search(value):
        raise Problem("invalid_field", f"{field} contains a character that cannot be stored; remove it", field=field)
    return value


def _whole(value: Any, default: int, most: int, field: str, code: str) -> int:
    """A whole number from 1 up; what is more than the most is the most."""
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise Problem(code, f"{field} is a whole number from 1 up; more than {most} counts as {most}", field=field)
    return min(value, most)


def _client_id(value: Any) -> str:
    try:
        return client_job_id(value)
    except PayloadError as wrong:
        raise Problem("invalid_client_job_id", str(wrong), field="client_job_id") from None


COMMAND = Form(CommandJob, tuple(KINDS), command_spec, key="client_job_id", problems=tuple(PROBLEMS))
