"""Lists of jobs by the names that users know: a state by its label, or whatever somebody types into a search box."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.event import PROGRESS
from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.payload.encoding import plain
from holdfast.store.port import Filter, Page, Reads
from holdfast.views.job import job_view

LARGEST_PAGE = 500
LONGEST_TEXT = 1_000
MOST_TASKS = 10
"""A search goes through the jobs of so many tasks that have the word in their name."""
MOST_SCOPES = 50
"""A search looks for a key in so many scopes."""
HEX = re.compile(r"[0-9a-f]{1,32}")
HYPHENS = (8, 12, 16, 20)


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
    q: str | None = None,
    limit: int = 50,
    cursor: str | None = None,
    steps: int | None = None,
) -> Page:
    """One keyset page, newest first. Raises FilterError, with what exists, for a name that nothing has.

    `q` finds what an index can: the beginning of an id, a correlation id or a key as they are, and tasks with that in
    their name. `steps` bounds how many jobs a page passes over: see `Reads.list`.
    """
    if not 1 <= limit <= LARGEST_PAGE:
        raise FilterError(f"limit is {limit}", field="limit", remedy=f"use 1 to {LARGEST_PAGE}")
    if lifecycle is not None and lifecycle not in tables:
        raise FilterError(
            f"no lifecycle {lifecycle!r}", field="lifecycle", remedy=f"there are: {', '.join(sorted(tables))}"
        )
    for name, text in (("task", task), ("queue", queue), ("q", q)):
        _check(name, text)
    chosen = {lifecycle: tables[lifecycle]} if lifecycle else dict(tables)
    filters = _filters(Filter(task=task, queue=queue, lifecycle=lifecycle), chosen, states)
    if q is not None:
        filters = [found for where in filters for found in await _searches(reads, where, q.strip())]
    return await reads.list(*filters, limit=limit, cursor=cursor, steps=steps)


async def job_views(reads: Reads, tables: Mapping[str, Lifecycle], jobs: Sequence[Job]) -> list[dict[str, Any]]:
    """Jobs of a list as the outside sees them. Only those that are being worked on say how far they are."""
    leased = [job.id for job in jobs if job.lease_owner is not None]
    progress = {signal.job_id: (signal,) for signal in await reads.last_signals(leased, PROGRESS)} if leased else {}
    return [job_view(job, tables.get(job.lifecycle), progress.get(job.id, ())) for job in jobs]


def _check(name: str, text: str | None) -> None:
    if text is None:
        return
    plain(name, text)
    if not text.strip() or len(text) > LONGEST_TEXT:
        raise FilterError(f"{name} has {len(text)} characters", field=name, remedy=f"use 1 to {LONGEST_TEXT}")


async def _searches(reads: Reads, where: Filter, q: str) -> list[Filter]:
    """What a word may stand for, each as a filter of its own."""
    found = [where._replace(correlation_id=q)]
    digits = q.lower().replace("-", "")
    if HEX.fullmatch(digits):
        found.append(where._replace(id_prefix=_hyphened(digits)))
    found += [where._replace(key_scope=scope, key=q) for scope in await reads.key_scopes(limit=MOST_SCOPES)]
    names = await reads.task_names() if where.task is None else [where.task]
    tasks = [name for name in names if q.lower() in name.lower()]
    # The one that is called exactly so is never left out.
    tasks.sort(key=lambda name: (name != q, name))
    return found + [where._replace(task=task) for task in tasks[:MOST_TASKS]]


def _hyphened(digits: str) -> str:
    ends = [0, *HYPHENS, 32]
    parts = [digits[start:end] for start, end in pairwise(ends)]
    return "-".join(part for part in parts if part)


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
