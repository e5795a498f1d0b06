"""One kind of problem, as ours and those of systems are listed."""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """One kind of problem: its status, what it is called, and what it means to who sees it."""

    status: int
    title: str
    meaning: str
