"""Many jobs, each settled on its own, as few changes as there are rows of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Lifecycle, Transition
from holdfast.kernel.move import Change
from holdfast.kernel.settle import Settled

BATCH = 500
"""So many jobs are settled in one transaction."""


def grouped(
    tables: Mapping[str, Lifecycle], jobs: Iterable[Job], settle: Callable[[Lifecycle, Job], Settled], actor: str
) -> list[Change]:
    """A change per path. A job of a lifecycle that is not known here is left to who knows it."""
    changes: dict[tuple[str, tuple[Transition, ...]], Change] = {}
    for job in jobs:
        table = tables.get(job.lifecycle)
        if table is None:
            continue
        path, move = settle(table, job)
        key = (table.name, path)
        if key not in changes:
            changes[key] = Change(table, path, actor, [])
        changes[key].moves.append(move)
    return list(changes.values())
