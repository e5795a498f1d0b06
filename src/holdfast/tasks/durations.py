"""Durations as people write them: "250ms", "5s", "10m", "2h", "1d", a number of seconds, or a timedelta."""

from __future__ import annotations

import re
from datetime import timedelta

from holdfast.kernel.errors import HoldfastError

Duration = str | int | float | timedelta

UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")
LONGEST_MS = 100 * 365 * UNITS_MS["d"]


def duration_ms(value: Duration, field: str) -> int:
    """A duration in milliseconds; HoldfastError names the field when it is none."""
    if isinstance(value, timedelta):
        ms = value / timedelta(milliseconds=1)
    elif isinstance(value, str):
        ms = _parse(value, field)
    elif isinstance(value, bool):
        raise _bad(value, field)
    elif isinstance(value, int | float):
        ms = value * 1_000
    else:
        raise _bad(value, field)
    if not 0 <= ms <= LONGEST_MS:  # refuses NaN too
        raise _bad(value, field)
    return round(ms)


def some_time_ms(value: Duration, field: str) -> int:
    """The same, where none at all cannot be meant."""
    if (ms := duration_ms(value, field)) > 0:
        return ms
    raise HoldfastError(f"{field} is {value!r}", field=field, remedy="more than 0 s, or leave it out")


def _parse(text: str, field: str) -> float:
    total, at = 0.0, 0
    stripped = text.strip()
    while part := PART.match(stripped, at):
        total += float(part[1]) * UNITS_MS[part[2]]
        at = part.end()
    if at == 0 or at != len(stripped):
        raise _bad(text, field)
    return total


def _bad(value: object, field: str) -> HoldfastError:
    return HoldfastError(
        f"{field} is no duration: {value!r}",
        field=field,
        remedy='write "250ms", "5s", "10m", "2h", a number of seconds from 0 up, or a timedelta',
    )
