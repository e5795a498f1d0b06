"""Dead letters and their groups, as the outside sees them."""

from __future__ import annotations

import json
from typing import Any

from holdfast.store.port import DeadLetter, Group, Store, Wanted
from holdfast.views.job import fields_of, iso

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
    names = ("job_id", "task", "queue", "at", "reason_code", "stage", "attempts", "last_error", "last_owner")
    more = ("last_lease_expires_at", "correlation_id", "group", "resolution", "replayed_as")
    return fields_of(letter, *names, *more, last_error=_error(letter), group=letter.fingerprint)


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
