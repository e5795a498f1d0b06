"""Pieces of sentences: an error, a span of time, a number of things."""

from __future__ import annotations

import json

MESSAGE_CHARS = 160


def error_of(outcome: str | None) -> str | None:
    """The code and the message of the error in an outcome, short enough for a sentence; None when there is none."""
    try:
        found = json.loads(outcome) if outcome else None
    except ValueError:
        return None
    error = found.get("error", found) if isinstance(found, dict) else None
    if not isinstance(error, dict) or not (error.get("code") or error.get("message")):
        return None
    words = " ".join(f"{error.get('code', 'error')}: {error.get('message', '')}".split())
    return words if len(words) <= MESSAGE_CHARS else f"{words[: MESSAGE_CHARS - 1]}…"


def span(ms: int) -> str:
    """A time span as one would say it: 250 ms, 4 s, 3 min, 2 h, 5 d."""
    ms = max(ms, 0)
    if ms < 1000:
        return f"{ms} ms"
    for unit, size, until in (("s", 1000, 120), ("min", 60_000, 120), ("h", 3_600_000, 48)):
        if ms < size * until:
            return f"{ms // size} {unit}"
    return f"{ms // 86_400_000} d"


def count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
