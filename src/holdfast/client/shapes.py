"""Jobs and events as an API shows them, back as rows. What it does not show is empty."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from holdfast.kernel.event import Event
from holdfast.kernel.job import Job
from holdfast.store.port import DeadLetter

View = Mapping[str, Any]


def job_of(view: View) -> Job:
    lease = view.get("lease") or {}
    outcome = {name: view[name] for name in ("result", "error", "output_metadata") if view.get(name) is not None}
    return Job(
        id=view["id"],
        lifecycle=view["lifecycle"],
        task=view["task"],
        queue=view["queue"],
        priority=view["priority"],
        state=view["canonical_state"],
        attempt=view["attempt"],
        version=view["version"],
        tries=view["tries"],
        max_tries=view["max_attempts"],
        losses=0,
        ready=False,
        due_at_ms=ms_of(view["due_at"]) or 0,
        lease_ms=0,
        lease_owner=lease.get("owner"),
        lease_until_ms=ms_of(lease.get("until")),
        created_at_ms=ms_of(view["created_at"]) or 0,
        changed_at_ms=ms_of(view.get("updated_at")) or 0,
        started_at_ms=ms_of(view.get("started_at")),
        finished_at_ms=ms_of(view.get("finished_at")),
        expires_at_ms=ms_of(view.get("expires_at")),
        keep_until_ms=ms_of(view.get("keep_until")),
        cancel_requested=view.get("cancel_requested"),
        key_scope=None,
        key=view.get("key"),
        correlation_id=_other(view.get("correlation_id"), view["id"]),
        trace_id=view.get("trace_id"),
        parent_id=view.get("parent_id"),
        tags=_text(view.get("tags")),
        options=None,
        payload=_text(view.get("payload")),
        payload_digest=None,
        outcome=_text(outcome or None),
        outcome_digest=None,
    )


def event_of(view: View) -> Event:
    return Event(
        pos=view["id"],
        job_id=view["job_id"],
        seq=view["seq"],
        type=view["type"],
        from_state=view["from_canonical"],
        to_state=view["to_canonical"],
        at_ms=ms_of(view["at"]) or 0,
        actor=view["actor"],
        attempt=view["attempt"],
        reason=view["reason"],
        cause=view["cause"],
        payload=_text(view["payload"]),
        payload_digest=None,
        digest=None,
        schema_version=view["version"],
        correlation_id=_other(view["correlation_id"], view["job_id"]),
        trace_id=view["trace_id"],
    )


def letter_of(view: View) -> DeadLetter:
    return DeadLetter(
        job_id=view["job_id"],
        at_ms=ms_of(view["at"]) or 0,
        reason_code=view["reason_code"],
        stage=view["stage"],
        last_error=_text(None if view["last_error"] is None else {"error": view["last_error"]}),
        attempts=view["attempts"],
        last_owner=view["last_owner"],
        last_lease_expires_at_ms=ms_of(view["last_lease_expires_at"]),
        correlation_id=view["correlation_id"],
        fingerprint=view["group"],
        resolution=view["resolution"],
        task=view["task"],
        queue=view["queue"],
    )


def ms_of(text: str | None) -> int | None:
    return None if text is None else round(datetime.fromisoformat(text).timestamp() * 1_000)


def _text(value: Any) -> str | None:
    return None if value is None else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _other(correlation_id: str | None, job_id: str) -> str | None:
    """A job that correlates with itself was given no correlation id."""
    return None if correlation_id == job_id else correlation_id
