"""One event per transition: what the log holds, and the bytes by which it is sealed."""

from __future__ import annotations

import json
from typing import NamedTuple

from holdfast.kernel.job import text_digest
from holdfast.kernel.proof.merkle import leaf_hash

SCHEMA_VERSION = 1
"""The version of the event's own shape. Later versions only add optional fields."""

PROGRESS = "job_progress"
"""The type of the signal that says how far a job is: a payload of done, total and counters."""


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
    """The leaf of the seal's tree: everything that the event says, its payload by digest.

    The bytes are those of `json.dumps` of the fields without spaces, spelled out: the audit makes millions.
    """
    pos, job_id, seq, kind, source, target, at_ms, actor, attempt, reason, cause = event[:11]
    payload, kept, digest, schema = event[11:15]
    if payload is not None:
        kept = text_digest(payload)
    text = (
        f"[{pos},{_quote(job_id)},{seq},{_quote(kind)},{_NULL if source is None else _quote(source)},"
        f"{_quote(target)},{at_ms},{_quote(actor)},{attempt},{_NULL if reason is None else _quote(reason)},"
        f"{_NULL if cause is None else _quote(cause)},{_hex(kept)},{_hex(digest)},{schema}]"
    )
    return leaf_hash(text.encode())


_NULL = "null"
_quote = json.encoder.encode_basestring_ascii


def _hex(digest: bytes | None) -> str:
    return f'"{digest.hex()}"' if digest else _NULL
