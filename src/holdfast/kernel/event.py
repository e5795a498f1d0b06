"""One event per transition: what the log holds, and the bytes by which it is sealed."""

from __future__ import annotations

import json
from typing import NamedTuple

from holdfast.kernel.job import text_digest
from holdfast.kernel.merkle import leaf_hash

SCHEMA_VERSION = 1
"""The version of the event's own shape. Later versions only add optional fields."""


class Event(NamedTuple):
    """One row of the event table, with the job's correlation and trace ids beside it.

    `pos` is its place in the feed, `seq` its place in the job's life. `digest` binds what the event
    stands for and another table holds: the submitted spec, or the outcome. `payload_digest` is
    set when the payload has been purged.
    """

    pos: int
    job_id: str
    seq: int
    type: str
    from_state: str | None
    to_state: str
    at_ms: int
    actor: str
    attempt: int
    reason: str | None
    cause: str | None
    payload: str | None
    payload_digest: bytes | None
    digest: bytes | None
    schema_version: int
    correlation_id: str | None = None
    trace_id: str | None = None


def leaf(event: Event) -> bytes:
    """The leaf of the seal's tree: everything that the event says, its payload by digest."""
    payload = event.payload_digest if event.payload is None else text_digest(event.payload)
    data = json.dumps(
        (
            event.pos,
            event.job_id,
            event.seq,
            event.type,
            event.from_state,
            event.to_state,
            event.at_ms,
            event.actor,
            event.attempt,
            event.reason,
            event.cause,
            payload.hex() if payload else None,
            event.digest.hex() if event.digest else None,
            event.schema_version,
        ),
        separators=(",", ":"),
    )
    return leaf_hash(data.encode())
