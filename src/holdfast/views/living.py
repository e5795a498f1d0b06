"""Jobs of a filter that are not over. What is over may be very many, and is not looked at."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial

from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.state import OVER, RANK, Canonical
from holdfast.store.port import Reads
from holdfast.views.listing import LARGEST_PAGE, list_jobs

LIVING = tuple(state for state in Canonical if RANK[state] < OVER)


async def living_jobs(
    reads: Reads,
    tables: Mapping[str, Lifecycle],
    *,
    states: Sequence[str] = (),
    task: str | None = None,
    queue: str | None = None,
    lifecycle: str | None = None,
    most: int = sys.maxsize,
) -> tuple[list[Job], bool]:
    """Up to so many, the newest first, and whether there are more. FilterError as of `list_jobs`."""
    found: list[Job] = []
    cursor: str | None = None
    names = _living_names([table for name, table in tables.items() if lifecycle in (None, name)], states)
    look = partial(list_jobs, reads, tables, task=task, queue=queue, lifecycle=lifecycle)
    while names:
        page = await look(states=names, limit=LARGEST_PAGE, cursor=cursor)
        found += [job for job in page.items if job.state in LIVING]
        cursor = page.next_cursor
        if cursor is None or len(found) >= most:
            return found[:most], cursor is not None or len(found) > most
    return [], False


def _living_names(tables: Sequence[Lifecycle], names: Sequence[str]) -> list[str]:
    """The names of states to look through. A lifecycle or a name that there is not is left for the list to say."""
    if not names:
        return [state.value for state in LIVING if not tables or any(table.parse(state.value) for table in tables)]
    meant = {name: {state for table in tables for state in table.parse(name)} for name in names}
    return [name for name in names if not meant[name] or not meant[name].isdisjoint(LIVING)]
