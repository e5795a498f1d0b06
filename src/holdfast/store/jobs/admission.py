"""Admission: a spec is checked, and what its first event binds is worked out.

Jobs of one task are submitted alike but for their id and payload. What they share is checked and encoded once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from holdfast.kernel.errors import NotAllowedError, NotFoundError, PayloadError
from holdfast.kernel.job import Spec, bind, bound_columns, is_id
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.limit import limit_of
from holdfast.kernel.payload.encoding import plain
from holdfast.kernel.policy import Duplicates, KeyHold
from holdfast.store.dialect import NewJob

TEXTS = (
    "task",
    "queue",
    "key_scope",
    "key",
    "correlation_id",
    "trace_id",
    "actor",
    "reason",
    "cause",
    "tags",
    "options",
)
NUMBERS = ("priority", "max_tries", "lease_ms")
INT32 = range(-(2**31), 2**31)
KEPT = 1024
Tables = Mapping[str, Lifecycle]


class _Shared(NamedTuple):
    """What jobs that are submitted alike have in common: a NewJob's columns around the payload, and what is bound."""

    before: tuple[Any, ...]
    after: tuple[Any, ...]
    bound: str


class Admission:
    """Lets specs in, or says which field is wrong and what would be right."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._shared: dict[tuple[Any, ...], _Shared] = {}

    def changed(self) -> None:
        """A table has come, or another version of one."""
        self._shared.clear()

    def admit(self, spec: Spec) -> NewJob:
        alike = spec[1:3] + spec[4:]
        shared = self._shared.get(alike)
        if shared is None:
            if len(self._shared) >= KEPT:
                self._shared.clear()
            shared = self._shared[alike] = _share(spec, self.tables)
        if not is_id(spec.id):
            raise _no_id("id")
        body = None if spec.payload is None else plain("payload", spec.payload)
        return NewJob._make((spec.id, *shared.before, spec.payload, *shared.after, bind(spec.id, shared.bound, body)))


def _share(spec: Spec, tables: Tables) -> _Shared:
    table = tables.get(spec.lifecycle)
    if table is None:
        raise NotFoundError("lifecycle", spec.lifecycle, f"known here: {', '.join(sorted(tables))}")
    if spec.state not in table.initial:
        allowed = tuple(f"submit as {state}" for state in table.initial)
        raise NotAllowedError(table.name, "nothing", f"submit as {spec.state}", allowed)
    for name in NUMBERS:
        number = getattr(spec, name)
        if type(number) is not int or number not in INT32:  # the type first: a range is searched for what is no int
            raise PayloadError(field=name, problem="is out of range", remedy="use a whole number of 32 bits")
    if spec.parent_id is not None and not is_id(spec.parent_id):
        raise _no_id("parent_id")
    for name in TEXTS:
        if (text := getattr(spec, name)) is not None:
            if not isinstance(text, str):
                raise PayloadError(field=name, problem=f"is no text: {text!r}", remedy="use a str")
            plain(name, text)
    expire_after = spec.expire_after_ms or table.policies.stale_after_ms
    allow = spec.duplicates == Duplicates.ALLOW
    scope = None if spec.key is None or allow else spec.key_scope or spec.task
    options = json.loads(spec.options) if spec.options else {}
    limit = limit_of(options)
    before = (
        *(spec.lifecycle, spec.task, spec.queue, spec.priority, spec.state, spec.state in table.claimable),
        *(spec.max_tries, spec.lease_ms, spec.delay_ms, spec.due_at_ms, expire_after, spec.keep_until_ms),
        *(scope, spec.key, spec.correlation_id, spec.trace_id, spec.parent_id, spec.tags, spec.options),
        *(min(-options.get("urgency", spec.priority), INT32[-1]), limit.name if limit else ""),
    )
    after = (table.submit_event, spec.actor, spec.reason, spec.cause, _first_payload(spec, table))
    return _Shared(before, after, bound_columns(spec._replace(key_scope=scope), expire_after))


def _first_payload(spec: Spec, table: Lifecycle) -> str | None:
    """The first event's payload: when the job is due, where that is not at once, and its key's own window."""
    payload: dict[str, int] = {}
    if spec.due_at_ms is not None:
        payload["due_at_ms"] = spec.due_at_ms
    elif spec.delay_ms:
        payload["delay_ms"] = spec.delay_ms
    # Without it the audit could not tell a key that passed on in time from one that two live jobs hold.
    if spec.key is not None and spec.key_window_ms and table.policies.key_hold is KeyHold.WINDOW:
        payload["key_window_ms"] = spec.key_window_ms
    return json.dumps(payload, separators=(",", ":")) if payload else None


def _no_id(field: str) -> PayloadError:
    return PayloadError(field=field, problem="is no job id", remedy="use a UUID in lower case with hyphens")
