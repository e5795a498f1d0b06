"""What `flow.task` takes beside the function: options of its task, of its node, or of both."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.graph.dag import Join, JoinKind, NodeOptions
from holdfast.kernel.graph.document import options
from holdfast.kernel.retry import WORKFLOW, workflow
from holdfast.tasks.durations import duration_ms

ALIASES = {"retry_limit": "retries", "expire_in_seconds": "expires", "run_ttl_seconds": "timeout", "run_ttl": "timeout"}
TASK_ONLY = ("lease", "executor", "on_exhausted", "limit")
BOTH = ("queue", "priority", "retries", "timeout", "expires")
NODE_ONLY = ("retry_delay", "retry_backoff", "start_after", "keep_until", "sla_soft", "sla_hard")


def split(given: Mapping[str, Any], node: str) -> tuple[dict[str, Any], NodeOptions]:
    """The options of the task, and those of the node; HoldfastError names one that is unknown or wrong."""
    named = {ALIASES.get(name, name.removesuffix("_seconds")): value for name, value in given.items()}
    if unknown := sorted(named.keys() - {*TASK_ONLY, *BOTH, *NODE_ONLY}):
        known = ", ".join((*BOTH, *NODE_ONLY, *TASK_ONLY))
        raise HoldfastError(f"{node}: unknown option {unknown[0]!r}", field=unknown[0], remedy=f"known: {known}")
    named = {name: value for name, value in named.items() if value is not None}
    delay, backoff = named.get("retry_delay"), named.get("retry_backoff")
    task = {name: named[name] for name in (*TASK_ONLY, *BOTH) if name in named}
    if delay is not None or backoff is not None:
        base_ms = WORKFLOW.base_ms if delay is None else duration_ms(delay, "retry_delay")
        task["backoff"] = workflow(WORKFLOW.max_tries - 1, base_ms, backoff is not False)
    fields = {
        "queue": named.get("queue"),
        "priority": named.get("priority"),
        "retry_limit": named.get("retries"),
        "retry_delay": _seconds(named, "retry_delay"),
        "retry_backoff": backoff,
        "start_after_ms": _time_ms(named, "start_after"),
        "expire_in_seconds": _seconds(named, "expires"),
        "run_ttl_seconds": _seconds(named, "timeout"),
        "keep_until_ms": _time_ms(named, "keep_until"),
        "sla_soft_seconds": _seconds(named, "sla_soft"),
        "sla_hard_seconds": _seconds(named, "sla_hard"),
    }
    return task, options(fields, node)


def join_of(value: Any, node: str) -> Join:
    """A join as people write it: "all", "any", "all_done", a number, or ("n", 2)."""
    if isinstance(value, tuple | list) and len(value) == 2 and value[0] == "n":
        value = value[1]
    if isinstance(value, int) and not isinstance(value, bool):
        return Join(JoinKind.N, value)
    if value in ("all", "any", "all_done"):
        return Join(JoinKind(value))
    raise HoldfastError(
        f"{node}: join is {value!r}", field="join", remedy='one of "all", "any", "all_done", or how many parents: 2'
    )


def _seconds(options: Mapping[str, Any], name: str) -> float | None:
    if name not in options:
        return None
    ms = duration_ms(options[name], name)
    return ms // 1_000 if ms % 1_000 == 0 else ms / 1_000


def _time_ms(options: Mapping[str, Any], name: str) -> int | None:
    value = options.get(name)
    if value is None:
        return None
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise HoldfastError(f"{name} is {value!r}", field=name, remedy="pass an aware datetime")
    return round(value.timestamp() * 1_000)
