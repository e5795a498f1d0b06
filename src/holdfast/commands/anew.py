"""The job that does what another was to do: a new life, a new trace, its arguments edited or not."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from uuid_utils import uuid4, uuid7

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.job import Job, Spec, correlation_of
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.payload.encoding import encode
from holdfast.kernel.policy import Duplicates
from holdfast.kernel.state import Canonical

if TYPE_CHECKING:
    from holdfast.tasks.registry import Registry

Check = Callable[[str, Mapping[str, Any]], str]
"""From a task's name and its arguments to the payload, or an error that names the argument that is wrong."""


def checker(registry: Registry) -> Check:
    """Arguments are checked against the signature of a task that is declared here; all others go as they are."""

    def check(task: str, args: Mapping[str, Any]) -> str:
        known = registry.find(task)
        return encode(dict(args), what="args") if known is None else known.work.pack_named(args)

    return check


def again(
    job: Job,
    table: Lifecycle,
    now_ms: int,
    *,
    key: str,
    actor: str,
    reason: str,
    edits: Mapping[str, Any] | None = None,
    check: Check | None = None,
) -> Spec:
    """The job that does what another was to do: a new life, a new trace, the same correlation, the old as parent."""
    lived_ms = now_ms - job.created_at_ms
    return Spec(
        id=str(uuid7()),
        lifecycle=job.lifecycle,
        task=job.task,
        payload=edited(job, edits or {}, check),
        queue=job.queue,
        priority=job.priority,
        state=(Canonical.QUEUED if Canonical.QUEUED in table.initial else table.initial[0]).value,
        max_tries=job.max_tries,
        lease_ms=job.lease_ms,
        expire_after_ms=_lasting(job, table),
        keep_until_ms=None if job.keep_until_ms is None else job.keep_until_ms + lived_ms,
        key=key,
        duplicates=Duplicates.RETURN.value,
        correlation_id=correlation_of(job),
        trace_id=uuid4().hex,
        parent_id=job.id,
        tags=job.tags,
        options=job.options,
        actor=actor,
        reason=reason,
        cause=job.id,
    )


def _lasting(job: Job, table: Lifecycle) -> int | None:
    """How long a job may last, or stand still: the limit that it was given."""
    if job.expires_at_ms is None:
        return None
    since_ms = job.created_at_ms if table.policies.stale_after_ms is None else job.changed_at_ms
    return max(job.expires_at_ms - since_ms, 0)


def edited(job: Job, edits: Mapping[str, Any], check: Check | None) -> str | None:
    """A job's payload with some arguments changed, checked where the task is known."""
    if job.payload is None and job.payload_digest is not None:
        raise HoldfastError(f"the payload of job {job.id} was purged", remedy="submit the task anew")
    args = json.loads(job.payload) if job.payload else {}
    if not isinstance(args, dict):
        if edits:
            raise HoldfastError(f"the payload of job {job.id} has no named arguments to edit", field="edit")
        return job.payload
    if not edits and check is None:
        return job.payload
    changed = args | dict(edits)
    return encode(changed, what="args") if check is None else check(job.task, changed)
