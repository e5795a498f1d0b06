"""What a second submit under a key gets: by our names, and by those that workflow schedulers use."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.policy import DAY_MS, Duplicates

FOR_EVER_MS = 36_500 * DAY_MS
"""A key's window that no job's record outlives."""


class Handling(NamedTuple):
    """The policy, and, where the name says so, for how long a key belongs to its first job, ended or not."""

    policy: Duplicates
    window_ms: int | None = None


NAMES = {policy.value: Handling(policy) for policy in Duplicates} | {
    "allow_all": Handling(Duplicates.ALLOW),
    "allow_duplicate": Handling(Duplicates.ALLOW),
    "reject_duplicate": Handling(Duplicates.REJECT),
    "reject_all": Handling(Duplicates.REJECT, FOR_EVER_MS),
}


def handling(name: str | None) -> Handling | None:
    """What a name stands for; None leaves it to the lifecycle. HoldfastError for one that is unknown."""
    if name is None:
        return None
    if name not in NAMES:
        raise HoldfastError(f"duplicates is {name!r}", field="duplicates", remedy=f"one of {', '.join(NAMES)}")
    return NAMES[name]
