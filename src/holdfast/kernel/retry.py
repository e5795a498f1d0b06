"""When a failed job is tried again: how often, and after which delay."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

# A hundred years: growth without a cap must still give a time that every database and calendar can hold.
LONGEST_DELAY_MS = 100 * 365 * 24 * 3_600_000

_LARGEST_FACTOR = 1e6

# Exponents up to here are exact as floats; beyond it the delay has long reached its cap.
_LARGEST_EXPONENT = 2**53


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """At most `max_tries` tries; the delay starts at `base_ms` and grows by `factor` up to `cap_ms`.

    `jitter` is the share of a delay, from 0 to 1, that chance may take away.
    Raises ValueError that names the field when a value makes no sense.
    """

    max_tries: int
    base_ms: int
    factor: float = 2.0
    cap_ms: int | None = None
    jitter: float = 0.0

    def __post_init__(self) -> None:
        _require_whole("max_tries", self.max_tries, least=1)
        _require_whole("base_ms", self.base_ms, least=0)
        _require_number("factor", self.factor, least=1.0, most=_LARGEST_FACTOR)
        if self.cap_ms is not None:
            _require_whole("cap_ms", self.cap_ms, least=0)
        _require_number("jitter", self.jitter, least=0.0, most=1.0)

    def to_dict(self) -> dict[str, int | float | None]:
        """The policy as a JSON object."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RetryPolicy:
        """The policy that `to_dict` gave; absent fields take their defaults, unknown ones raise."""
        unknown = sorted(set(data) - {field.name for field in fields(cls)})
        if unknown:
            raise ValueError(f"retry policy has no field {unknown[0]!r}")
        for name in ("max_tries", "base_ms"):
            if name not in data:
                raise ValueError(f"{name} is missing from the retry policy")
        return cls(**data)


def delay_ms(policy: RetryPolicy, tries: int, chance: float) -> int:
    """The delay before the next try after `tries` (1 or more) tries; `chance` in [0, 1) drives the jitter."""
    if tries < 1:
        raise ValueError(f"tries must be at least 1, not {tries}")
    if not 0.0 <= chance < 1.0:
        raise ValueError(f"chance must be in [0, 1), not {chance}")
    cap_ms = LONGEST_DELAY_MS if policy.cap_ms is None else min(policy.cap_ms, LONGEST_DELAY_MS)
    # float: an int factor to a huge power would be computed in full instead of overflowing.
    try:
        grown_ms = policy.base_ms * float(policy.factor) ** min(tries - 1, _LARGEST_EXPONENT)
    except OverflowError:
        grown_ms = math.inf if policy.base_ms else 0.0
    return int(min(cap_ms, grown_ms) * (1.0 - policy.jitter * chance))


def left(policy: RetryPolicy, tries: int) -> bool:
    """Whether another try is allowed after `tries` tries."""
    return tries < policy.max_tries


def workflow(retry_limit: int, retry_delay_ms: int, backoff: bool) -> RetryPolicy:
    """The policy of a workflow task: `retry_limit` more tries, their delays doubling if `backoff`."""
    _require_whole("retry_limit", retry_limit, least=0)
    _require_whole("retry_delay_ms", retry_delay_ms, least=0)
    return RetryPolicy(max_tries=retry_limit + 1, base_ms=retry_delay_ms, factor=2.0 if backoff else 1.0)


def _require_whole(name: str, value: object, *, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}")


def _require_number(name: str, value: object, *, least: float, most: float) -> None:
    number = isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool))
    if not number or not least <= value <= most:  # type: ignore[operator] # a number by the line above
        raise ValueError(f"{name} must be a number from {least:g} to {most:g}, not {value!r}")


NEVER = RetryPolicy(max_tries=1, base_ms=0)
CRAWL = RetryPolicy(max_tries=7, base_ms=2_000, factor=2.0, jitter=0.5)
DURABLE = RetryPolicy(max_tries=3, base_ms=500, factor=2.0, cap_ms=60_000, jitter=0.5)
WORKFLOW = workflow(retry_limit=2, retry_delay_ms=2_000, backoff=True)
