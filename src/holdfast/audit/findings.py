"""What an audit finds, and what it says while it runs. All breaches are counted; the first are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from holdfast.kernel.proof.invariants import Violation


class Progress(NamedTuple):
    """How far one pass of the audit is. `what` is "jobs" or "seals"; a total of 0 is not known yet."""

    what: str
    done: int
    total: int


Tick = Callable[[Progress], None]


class Findings:
    """Counts every violation and keeps the first `most`."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.total = 0
        self.kept: list[Violation] = []

    def add(self, *violations: Violation) -> None:
        self.total += len(violations)
        if len(self.kept) < self.most:
            self.kept += violations[: self.most - len(self.kept)]

    def log(self, invariant: str, message: str) -> None:
        """A breach of the log as a whole, not of one job."""
        self.add(Violation(invariant, None, None, message))
