"""Lists of jobs by the names that users know: a state by its label or its canonical name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.store.reads import Filter, Page, Reads

LARGEST_PAGE = 500


class FilterError(HoldfastError):
    """A filter names something that does not exist."""


async def list_jobs(
    reads: Reads,
    tables: Mapping[str, Lifecycle],
    *,
    states: Sequence[str] = (),
    task: str | None = None,
    queue: str | None = None,
    lifecycle: str | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Page:
    """One keyset page, newest first. Raises FilterError, with what exists, for a name that nothing has."""
    if not 1 <= limit <= LARGEST_PAGE:
        raise FilterError(f"limit is {limit}", field="limit", remedy=f"use 1 to {LARGEST_PAGE}")
    if lifecycle is not None and lifecycle not in tables:
        raise FilterError(
            f"no lifecycle {lifecycle!r}", field="lifecycle", remedy=f"there are: {', '.join(sorted(tables))}"
        )
    chosen = {lifecycle: tables[lifecycle]} if lifecycle else dict(tables)
    shared = Filter(task=task, queue=queue, lifecycle=lifecycle)
    pages = [await reads.list(where, limit=limit, cursor=cursor) for where in _filters(shared, chosen, states)]
    return _merged(pages, limit)


def _filters(shared: Filter, tables: Mapping[str, Lifecycle], names: Sequence[str]) -> list[Filter]:
    """A label can mean different states in different lifecycles: then each is asked for its own."""
    if not names:
        return [shared]
    wanted: dict[str, tuple[str, ...]] = {}
    for name in names:
        found = {table.name: table.parse(name) for table in tables.values()}
        if not any(found.values()):
            raise FilterError(f"no state {name!r}", field="state", remedy=f"there are: {state_names(tables.values())}")
        for table, states in found.items():
            wanted[table] = tuple(dict.fromkeys((*wanted.get(table, ()), *(s.value for s in states))))
    every = {state for states in wanted.values() for state in states}
    if all(set(wanted[t.name]) == every & {s.canonical.value for s in t.states} for t in tables.values()):
        # The names mean the same in all of them: one walk instead of one per lifecycle.
        return [shared._replace(states=tuple(sorted(every)))]
    return [shared._replace(lifecycle=table, states=states) for table, states in wanted.items() if states]


def state_names(tables: Iterable[Lifecycle]) -> str:
    """Every name that a state filter takes, labels and canonical names alike."""
    names = {name for table in tables for s in table.states for name in (str(s), s.canonical.value)}
    return ", ".join(sorted(names))


def _merged(pages: Sequence[Page], limit: int) -> Page:
    if len(pages) == 1:
        return pages[0]
    jobs = sorted((job for page in pages for job in page.items), key=lambda job: job.id, reverse=True)
    more = len(jobs) > limit or any(page.next_cursor for page in pages)
    return Page(jobs[:limit], jobs[limit - 1].id if more and len(jobs) >= limit else None)
