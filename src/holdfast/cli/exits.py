"""How a command ends: its exit code, and the one line that says why."""

from __future__ import annotations

from enum import IntEnum

from holdfast.config import ConfigError
from holdfast.extras import MissingExtraError
from holdfast.kernel.errors import DuplicateKeyError, HoldfastError, NotAllowedError, NotFoundError


class Exit(IntEnum):
    OK = 0
    ERROR = 1
    USAGE = 2
    NOT_FOUND = 3
    NOT_PERMITTED = 4
    CONFLICT = 5
    UNAVAILABLE = 6
    JOB_FAILED = 10
    JOB_CANCELLED = 11
    WAIT_TIMED_OUT = 124
    INTERRUPTED = 130
    BROKEN_PIPE = 141


class UsageError(HoldfastError):
    """The command line makes no sense."""


class UnavailableError(HoldfastError):
    """The database cannot be used now."""


def exit_of(error: HoldfastError) -> Exit:
    match error:
        case UsageError() | ConfigError() | MissingExtraError():
            return Exit.USAGE
        case NotFoundError():
            return Exit.NOT_FOUND
        case NotAllowedError() | DuplicateKeyError():
            return Exit.CONFLICT
        case UnavailableError():
            return Exit.UNAVAILABLE
        case HoldfastError(field=str()) | TypeError():
            # Some argument was refused further in: the cursor of another list, or what a task does not take.
            return Exit.USAGE
        case _:
            return Exit.ERROR


def refuse_limit(limit: int, largest: int) -> None:
    if not 1 <= limit <= largest:
        raise UsageError(f"limit is {limit}", field="limit", remedy=f"use 1 to {largest}")


def one_line(text: object) -> str:
    """Words of a parser or a database, which like to spread over several lines."""
    return " ".join(str(text).split())
