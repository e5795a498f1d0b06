"""Jobs become more urgent: as a deadline comes near, or with the one whose place they take."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.store.dialect import Dialect
from holdfast.store.script import Query, Row, Script


def move_up(dialect: Dialect, turns: Mapping[str, int]) -> Script[list[Row]]:
    """Let jobs stand no lower than at these turns, wherever they are."""
    yield Query("raise_ready", dialect.turns(turns))
    return (yield Query("raise_jobs", dialect.turns(turns)))
