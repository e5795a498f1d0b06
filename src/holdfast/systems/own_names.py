"""What a lifecycle's own document calls a job's fields, where that is not what everybody calls them."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.state import Canonical


def own_fields(job: Job, lifecycle: Lifecycle | None) -> dict[str, Any]:
    """The job's fields under its lifecycle's own names; none for a lifecycle that has no others."""
    named = None if lifecycle is None else NAMED.get(lifecycle.name)
    return {} if lifecycle is None or named is None else named(job, lifecycle)


def _crawl(job: Job, lifecycle: Lifecycle) -> dict[str, Any]:
    return {"canceled_at": iso(job.finished_at_ms) if job.state == Canonical.CANCELLED else None}


def _workflow(job: Job, lifecycle: Lifecycle) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(job.options) if job.options else {}
    usual = lifecycle.policies.retry
    expires_ms = None if job.expires_at_ms is None else job.expires_at_ms - job.created_at_ms
    return {
        "name": job.task,
        "data": None if job.payload is None else json.loads(job.payload),
        "retry_limit": job.max_tries - 1,
        "retry_delay": said.get("retry_delay_ms", usual.base_ms) / 1_000,
        "retry_backoff": said.get("retry_backoff", usual.factor > 1),
        "start_after": iso(job.due_at_ms),
        "expire_in_seconds": None if expires_ms is None else expires_ms / 1_000,
    }


NAMED: dict[str, Callable[[Job, Lifecycle], dict[str, Any]]] = {"crawl": _crawl, "workflow": _workflow}


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
