"""A job as it stands, and what a new one is made from. Rows, not objects: both are tuples."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import NamedTuple

ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
DEFAULT_QUEUE = "default"

_encode = json.JSONEncoder(separators=(",", ":")).encode


class Job(NamedTuple):
    """One row of the job table. The order of the fields is the order of the columns."""

    id: str
    lifecycle: str
    task: str
    queue: str
    priority: int
    state: str
    attempt: int
    version: int
    tries: int
    max_tries: int
    losses: int
    ready: bool
    due_at_ms: int
    lease_ms: int
    lease_owner: str | None
    lease_until_ms: int | None
    created_at_ms: int
    changed_at_ms: int
    started_at_ms: int | None
    finished_at_ms: int | None
    expires_at_ms: int | None
    keep_until_ms: int | None
    cancel_requested: str | None
    key_scope: str | None
    key: str | None
    correlation_id: str | None
    trace_id: str | None
    parent_id: str | None
    tags: str | None
    options: str | None
    payload: str | None
    payload_digest: bytes | None
    outcome: str | None
    outcome_digest: bytes | None


class Spec(NamedTuple):
    """What a job is made from. `payload`, `options` and `tags` are JSON text that passed the door."""

    id: str
    lifecycle: str
    task: str
    payload: str | None = None
    queue: str = DEFAULT_QUEUE
    priority: int = 0
    state: str = "queued"
    max_tries: int = 1
    lease_ms: int = 60_000
    delay_ms: int = 0
    due_at_ms: int | None = None
    expire_after_ms: int | None = None
    keep_until_ms: int | None = None
    key_scope: str | None = None
    key: str | None = None
    key_window_ms: int | None = None
    duplicates: str | None = None
    correlation_id: str | None = None
    trace_id: str | None = None
    parent_id: str | None = None
    tags: str | None = None
    options: str | None = None
    actor: str = "client"
    reason: str | None = None
    cause: str | None = None


class Failure(NamedTuple):
    """Why an attempt did not succeed, as it is recorded."""

    code: str
    error_class: str
    message: str
    context: dict[str, object]
    stage: str = "exec"

    def to_dict(self) -> dict[str, object]:
        return {
            "code": self.code,
            "class": self.error_class,
            "message": self.message,
            "context": self.context,
            "stage": self.stage,
        }


class NewDeadLetter(NamedTuple):
    """A job that only a person can help: why, and what is known of its last run."""

    reason_code: str
    stage: str
    last_error: str | None
    attempts: int
    last_owner: str | None
    last_lease_expires_at_ms: int | None
    fingerprint: str


DLQ_REASONS = frozenset(
    {
        "parse_error",
        "validation_failed",
        "dependency_unavailable",
        "timeout",
        "exhausted_retries",
        "policy_violation",
        "infrastructure_failure",
        "compensation_failed",
    }
)
DLQ_STAGES = frozenset({"fetch", "input", "exec", "output", "commit"})


def text_digest(text: str | None, kept: bytes | None = None) -> bytes | None:
    """The digest of a text, or the digest that was kept when the text was purged."""
    return kept if text is None else sha256(text.encode()).digest()


def bound_columns(job: Job | Spec, expire_after_ms: int | None) -> str:
    """Every column that never changes, but for the id and the payload: alike for all jobs that are submitted alike."""
    fields = (
        job.lifecycle,
        job.task,
        job.queue,
        job.priority,
        job.max_tries,
        job.lease_ms,
        expire_after_ms,
        job.keep_until_ms,
        job.key_scope,
        job.key,
        job.correlation_id,
        job.trace_id,
        job.parent_id,
        job.tags,
        job.options,
    )
    return _encode(fields)[1:-1]


def bind(job_id: str, columns: str, payload: bytes | None) -> bytes:
    """The digest that a job's first event holds of what was submitted."""
    body = "null" if payload is None else f'"{payload.hex()}"'
    return sha256(f'["{job_id}",{columns},{body}]'.encode()).digest()


def spec_digest(job: Job | Spec, *, expire_after_ms: int | None, payload: bytes | None) -> bytes:
    """Binds every column that never changes to the job's first event."""
    return bind(job.id, bound_columns(job, expire_after_ms), payload)


def correlation_of(job: Job) -> str:
    """A job that was given no correlation id is the start of its own correlation."""
    return job.correlation_id or job.id


def is_id(text: str) -> bool:
    """Whether a text has the form of a job's id; all else is simply not there."""
    return ID.fullmatch(text) is not None
