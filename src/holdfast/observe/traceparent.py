"""W3C Trace Context: `00-<trace>-<span>-<flags>`, read and written."""

from __future__ import annotations

import json
import re
import secrets
from typing import NamedTuple, TypeGuard

# Versions to come may say more behind a dash; this one says exactly four things.
SHAPE = re.compile(
    r"(?!ff)(?!00.{53}-)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?"
)
TRACE = re.compile(r"(?!0{32})[0-9a-f]{32}")
SAMPLED = 1
OPTION = "traceparent"
"""Where a job's options keep the span that sent it."""


class SpanPlace(NamedTuple):
    """A span somewhere: in which trace, which one, and whether it is recorded."""

    trace_id: str
    span_id: str
    flags: int = SAMPLED

    def __str__(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{self.flags:02x}"


def parse(text: str | None) -> SpanPlace | None:
    """The place that a header names; None for none and for one that is malformed, as the standard wants it."""
    found = SHAPE.fullmatch(text.strip(" \t")) if text else None
    return None if found is None else SpanPlace(found[1], found[2], int(found[3], 16))


def is_trace_id(text: str | None) -> TypeGuard[str]:
    """Whether a trace id is one that others understand. Users may give their jobs any text for one."""
    return text is not None and TRACE.fullmatch(text) is not None


def new_span_id() -> str:
    return secrets.token_hex(8)


def of_options(options: str | None, trace_id: str | None) -> SpanPlace | None:
    """The span that sent a job. One of another trace is that of the job that this one repeats, and is passed over."""
    if options is None or f'"{OPTION}"' not in options:
        return None
    kept = json.loads(options)
    place = parse(kept.get(OPTION)) if isinstance(kept, dict) else None
    return place if place is not None and place.trace_id == trace_id else None


def into_options(options: str | None, place: SpanPlace) -> str:
    """A job's options with the span that sends it."""
    kept = json.loads(options) if options else {}
    return json.dumps(kept | {OPTION: str(place)}, separators=(",", ":"), ensure_ascii=False)
