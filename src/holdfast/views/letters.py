"""Dead letters and their groups, as the outside sees them."""

from __future__ import annotations

import json
from typing import Any

from holdfast.store.port import DeadLetter, Group, Store, Wanted
from holdfast.views.job import iso

AT_ONCE = 200


async def matching(store: Store, wanted: Wanted, most: int | None = None) -> list[DeadLetter]:
    """Every letter that a filter chooses, the newest first; `most` bounds how many."""
    letters = store.admin.dead
    found: list[DeadLetter] = []
    cursor: str | None = None
    while True:
        page = await letters.page(wanted, limit=AT_ONCE, cursor=cursor)
        found += page.items
        cursor = page.next_cursor
        if cursor is None or (most is not None and len(found) >= most):
            return found[:most]


def letter_view(letter: DeadLetter) -> dict[str, Any]:
    """A dead letter's public shape."""
    return {
        "job_id": letter.job_id,
        "task": letter.task,
        "queue": letter.queue,
        "at": iso(letter.at_ms),
        "reason_code": letter.reason_code,
        "stage": letter.stage,
        "attempts": letter.attempts,
        "last_error": _error(letter),
        "last_owner": letter.last_owner,
        "last_lease_expires_at": iso(letter.last_lease_expires_at_ms),
        "correlation_id": letter.correlation_id,
        "group": letter.fingerprint,
        "resolution": letter.resolution,
        "replayed_as": letter.replayed_as,
    }


def group_view(group: Group) -> dict[str, Any]:
    return {
        "group": group.fingerprint,
        "count": group.letters,
        "exact": group.is_exact,
        "first_at": iso(group.first_at_ms),
        "last_at": iso(group.last_at_ms),
        "example": letter_view(group.example),
    }


def _error(letter: DeadLetter) -> Any:
    """What went wrong last, as the job's own error says it."""
    if letter.last_error is None:
        return None
    try:
        outcome = json.loads(letter.last_error)
    except ValueError:
        return {"message": letter.last_error}
    return outcome.get("error", outcome) if isinstance(outcome, dict) else {"message": outcome}
