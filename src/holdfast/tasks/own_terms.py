"""What one job says of its own runs, where that differs from its task: kept in the job's options."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.job import Job
from holdfast.kernel.retry import RetryPolicy
from holdfast.tasks.durations import Duration, duration_ms, some_time_ms
from holdfast.tasks.registry import TaskDef, beginning

DOUBLING = 2.0


class Terms(NamedTuple):
    """How long a run may take, and how a failed one is tried again."""

    timeout_ms: int | None
    retry: RetryPolicy


def own_terms(task: TaskDef, timeout: Duration | None, retry_delay: Duration | None, retry_backoff: Any) -> str | None:
    """The options of a job that is submitted with these; None when it says nothing of its own."""
    terms: dict[str, Any] = {}
    if task.lifecycle.policies.keeps_terms:
        terms = {"retry_delay_ms": task.retry.base_ms, "retry_backoff": task.retry.factor > 1}
    if timeout is not None:
        terms["timeout_ms"] = some_time_ms(timeout, "timeout")
    if retry_delay is not None:
        terms["retry_delay_ms"] = duration_ms(retry_delay, "retry_delay")
    if retry_backoff is not None:
        if not isinstance(retry_backoff, bool):
            raise HoldfastError(f"retry_backoff is {retry_backoff!r}", field="retry_backoff", remedy="True or False")
        terms["retry_backoff"] = retry_backoff
    return json.dumps(terms, separators=(",", ":")) if terms else None


def tries_of(usual: int, retry_limit: Any) -> int:
    """How often a job may be tried: once, and again as often as its own limit or its task says."""
    if retry_limit is None:
        return usual
    whole = isinstance(retry_limit, int) and not isinstance(retry_limit, bool)
    if not whole or retry_limit < 0:
        raise HoldfastError(f"retry_limit is {retry_limit!r}", field="retry_limit", remedy="a whole number from 0 up")
    return int(retry_limit) + 1


def terms_of(job: Job, task: TaskDef) -> Terms:
    """The job's own terms, else its task's, else its lifecycle's."""
    usual_ms = task.lifecycle.policies.run_ttl_ms if task.timeout_ms is None else task.timeout_ms
    return Terms(usual_ms, task.retry) if job.options is None else _of_options(job.options, usual_ms, task.retry)


@lru_cache(maxsize=4096)
def _of_options(options: str, usual_ms: int | None, retry: RetryPolicy) -> Terms:
    """Kept: the nodes of a flow, and jobs that were submitted alike, say the same."""
    own: dict[str, Any] = json.loads(options)
    return Terms(own.get("timeout_ms", usual_ms), _retry(retry, own))


def _retry(policy: RetryPolicy, own: dict[str, Any]) -> RetryPolicy:
    backoff = own.get("retry_backoff")
    if backoff is not None:
        policy = replace(policy, factor=max(policy.factor, DOUBLING) if backoff else 1.0)
    base_ms = own.get("retry_delay_ms")
    return policy if base_ms is None else beginning(policy, base_ms)
