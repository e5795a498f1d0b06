"""A node as it stands."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.kernel.graph.readiness import Tally


class NodeRow(NamedTuple):
    """A node and where its job stands."""

    job_id: str
    name: str
    item: int | None
    join_kind: str
    need: int
    parents: int
    taken: int
    dead: int
    broken: int
    state: str
    attempt: int
    task: str
    created_at_ms: int
    due_at_ms: int
    started_at_ms: int | None
    finished_at_ms: int | None
    tries: int

    @property
    def tally(self) -> Tally:
        return Tally(self.parents, self.taken, self.dead, self.broken)
