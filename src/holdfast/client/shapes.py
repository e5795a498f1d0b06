"""Jobs and events as an API shows them, back as rows. What it does not show is empty."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

from holdfast.kernel.event import Event
from holdfast.kernel.job import Job
from holdfast.store.port import DeadLetter, NodeRow

View = Mapping[str, Any]
R = TypeVar("R", Job, Event, DeadLetter, NodeRow)


def row_of(kind: type[R], view: View, **besides: Any) -> R:
    """A row of what the view has under its names, for `at_ms` the time `at`; `besides` is what it has otherwise."""
    found: dict[str, Any] = {
        name: ms_of(view.get(name.removesuffix("_ms"))) if name.endswith("_ms") else view.get(name)
        for name in kind._fields
        if name not in besides
    }
    return kind(**found, **besides)


def job_of(view: View) -> Job:
    lease = view.get("lease") or {}
    outcome = {name: view[name] for name in ("result", "error", "output_metadata") if view.get(name) is not None}
    return row_of(
        Job,
        view,
        state=view["canonical_state"],
        max_tries=view["max_attempts"],
        losses=0,
        ready=False,
        due_at_ms=ms_of(view["due_at"]) or 0,
        lease_ms=0,
        lease_owner=lease.get("owner"),
        lease_until_ms=ms_of(lease.get("until")),
        created_at_ms=ms_of(view["created_at"]) or 0,
        changed_at_ms=ms_of(view.get("updated_at")) or 0,
        correlation_id=_other(view.get("correlation_id"), view["id"]),
        tags=_text(view.get("tags")),
        payload=_text(view.get("payload")),
        outcome=_text(outcome or None),
    )


def event_of(view: View) -> Event:
    return row_of(
        Event,
        view,
        pos=view["id"],
        from_state=view["from_canonical"],
        to_state=view["to_canonical"],
        at_ms=ms_of(view["at"]) or 0,
        payload=_text(view["payload"]),
        schema_version=view["version"],
        correlation_id=_other(view["correlation_id"], view["job_id"]),
    )


def letter_of(view: View) -> DeadLetter:
    error = None if view["last_error"] is None else {"error": view["last_error"]}
    return row_of(DeadLetter, view, at_ms=ms_of(view["at"]) or 0, last_error=_text(error), fingerprint=view["group"])


def ms_of(text: str | None) -> int | None:
    return None if text is None else round(datetime.fromisoformat(text).timestamp() * 1_000)


def _text(value: Any) -> str | None:
    return None if value is None else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _other(correlation_id: str | None, job_id: str) -> str | None:
    """A job that correlates with itself was given no correlation id."""
    return None if correlation_id == job_id else correlation_id
