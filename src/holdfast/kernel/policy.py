"""What a lifecycle says about leases, retries, keys, expiry and retention. Policies, never branches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from holdfast.kernel.retry import NEVER, RetryPolicy

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


class Lost(StrEnum):
    """What becomes of a job whose lease ran out."""

    NEXT_ATTEMPT = "next_attempt"
    TAKE_OVER = "take_over"


class Exhausted(StrEnum):
    """Where a job goes when its tries are used up."""

    FAIL = "fail"
    DEAD_LETTER = "dead_letter"


class KeyHold(StrEnum):
    """How long an idempotency key belongs to its job."""

    WHILE_LIVE = "while_live"
    WINDOW = "window"
    UNTIL_CLEANED = "until_cleaned"


class Duplicates(StrEnum):
    """What a second submit under a key gets while the first job holds it."""

    RETURN = "return"
    REJECT = "reject"
    REPLACE = "replace"
    ALLOW = "allow"


@dataclass(frozen=True, slots=True)
class Policies:
    lease_ms: int = 60 * SECOND_MS
    heartbeat_ms: int = 20 * SECOND_MS
    retry: RetryPolicy = NEVER
    lost: Lost = Lost.NEXT_ATTEMPT
    lost_code: str = "lease_expired"
    """What the log says of a job whose lease ran out."""
    on_exhausted: Exhausted = Exhausted.FAIL
    on_lost_exhausted: Exhausted = Exhausted.FAIL
    crash_budget: int = 3
    run_ttl_ms: int | None = None
    """How long a run may take where neither its task nor its job says."""
    stale_after_ms: int | None = None
    expire_after_ms: int | None = None
    keeps_terms: bool = False
    """Whether a job keeps the terms of retry that it was submitted with, whatever its task says by then."""
    says_why: bool = False
    """Whether an end without a result has an `output_metadata` that says why."""
    resumable: bool = False
    key_hold: KeyHold = KeyHold.WHILE_LIVE
    key_window_ms: int | None = None
    duplicates: Duplicates = Duplicates.RETURN
    retention_ms: int | None = None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Policies:
        return cls(
            **{
                **data,
                "retry": RetryPolicy(**data["retry"]),
                "lost": Lost(data["lost"]),
                "on_exhausted": Exhausted(data["on_exhausted"]),
                "on_lost_exhausted": Exhausted(data["on_lost_exhausted"]),
                "key_hold": KeyHold(data["key_hold"]),
                "duplicates": Duplicates(data["duplicates"]),
            }
        )
