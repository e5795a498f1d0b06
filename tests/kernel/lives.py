"""Jobs with their events, made from a table and a list of commands, without a store."""

from __future__ import annotations

import json
from typing import Any

from holdfast.kernel.event import SCHEMA_VERSION, Event
from holdfast.kernel.job import Job, spec_digest, text_digest
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.proof.replay import replay
from holdfast.kernel.state import LEASED

JOB_ID = "01900000-0000-7000-8000-000000000001"
START_MS = 1_000_000
STEP_MS = 1_000
WORKER = "w"
RESULT = '{"result":1}'

_GIVEN: dict[str, Any] = {"id": JOB_ID, "task": "t", "queue": "q", "priority": 0, "max_tries": 3}
_GIVEN |= {"lease_ms": 60_000, "payload": '{"a":1}', "correlation_id": "c"}
BLANK = Job._make(_GIVEN.get(name) for name in Job._fields)


def event(seq: int, kind: str, source: str | None, target: str, attempt: int, **more: Any) -> Event:
    fields: dict[str, Any] = {
        "pos": seq,
        "job_id": JOB_ID,
        "at_ms": START_MS + seq * STEP_MS,
        "actor": WORKER,
        "reason": None,
        "cause": None,
        "payload": None,
        "payload_digest": None,
        "digest": None,
        "schema_version": SCHEMA_VERSION,
    }
    return Event(seq=seq, type=kind, from_state=source, to_state=target, attempt=attempt, **(fields | more))


def lived(table: Lifecycle, *commands: str, **columns: Any) -> tuple[Job, list[Event]]:
    """A job that went this way, one second a step, and its events; `retry` waits half a second."""
    job = BLANK._replace(lifecycle=table.name, **columns)
    digest = spec_digest(job, expire_after_ms=None, payload=text_digest(job.payload))
    state, attempt = table.initial[0].value, 1
    events = [event(1, table.submit_event, None, state, 1, digest=digest, actor="client")]
    outcome = None
    for seq, command in enumerate(commands, 2):
        row = table.row(state, command)
        state, attempt = row.target.value, attempt + row.opens_attempt
        more: dict[str, Any] = {}
        if command == "succeed":
            outcome = RESULT
            more["digest"] = text_digest(outcome)
        if command == "retry":
            more["payload"] = json.dumps({"delay_ms": 500})
        events.append(event(seq, row.event, row.source.value, state, attempt, **more))
    told = replay(table, events)
    names = set(told.__dataclass_fields__) - {"outcome_digest", "ended_for_ms"}
    job = job._replace(**{name: getattr(told, name) for name in names})
    leased = state in LEASED
    return (
        job._replace(
            ready=state in table.claimable,
            lease_until_ms=job.changed_at_ms + job.lease_ms if leased else None,
            outcome=outcome,
        ),
        events,
    )
