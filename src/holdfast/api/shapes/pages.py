"""Pages of a list: cursors that lead on from one page to the next."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, TypeVar

from fastapi import Query

from holdfast.api.problems.kinds import Problem
from holdfast.kernel.job import is_id

LARGEST = 500
DEFAULT = 50
LONGEST_CURSOR = 200
STEPS = 4_000
"""What one look passes over: 5 ms where it lies side by side, 40 where it is scattered."""
PATIENCE_S = 0.04
"""A page that is not full is looked for again, unless it took this long: then its cursor leads on."""

T = TypeVar("T")
Look = Callable[[int, str | None], Awaitable[tuple[list[T], str | None]]]
"""From how many at most and the place behind which to look, to what was found and the place that was reached."""

Limit = Annotated[int, Query(ge=1, le=LARGEST, description="How many at most.")]
Cursor = Annotated[
    str | None, Query(description="`next_cursor` of the page before, as it is. It fits the same filter only.")
]


def cursor_of(before: str | None, where: Mapping[str, Any]) -> str | None:
    """The cursor of the page that goes on behind the place `before`, a job's id mostly, for this filter."""
    if before is None:
        return None
    document = json.dumps({"before": before, "of": _digest(where)}, separators=(",", ":"))
    return base64.urlsafe_b64encode(document.encode()).decode().rstrip("=")


def before_of(cursor: str | None, where: Mapping[str, Any], is_place: Callable[[str], bool] = is_id) -> str | None:
    """The place behind which a cursor goes on. Problem for one that was not given out for this filter."""
    if cursor is None:
        return None
    try:
        if len(cursor) > LONGEST_CURSOR:
            raise ValueError
        document = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        before, of = document["before"], document["of"]
        if not isinstance(before, str) or not is_place(before):
            raise ValueError
    except (ValueError, KeyError, TypeError, binascii.Error, RecursionError):
        detail = "cursor was not given out here; take next_cursor of a page as it is, or start without one"
        raise Problem("invalid_parameter", detail, field="cursor") from None
    if of != _digest(where):
        detail = "cursor belongs to another filter; keep the filter, or start without a cursor"
        raise Problem("invalid_parameter", detail, field="cursor")
    return before


async def gathered(look: Look[T], limit: int, before: str | None) -> tuple[list[T], str | None]:
    """A page, looked for in bounded stretches: until it is full, there is no more, or patience is over."""
    found: list[T] = []
    began_s = time.monotonic()
    while True:
        items, before = await look(limit - len(found), before)
        found += items
        if before is None or len(found) >= limit or time.monotonic() - began_s > PATIENCE_S:
            return found, before


def _digest(where: Mapping[str, Any]) -> str:
    text = json.dumps({name: value for name, value in where.items() if value}, sort_keys=True)
    # Replaced, not refused: half a character in a filter is the list's to complain of.
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]
