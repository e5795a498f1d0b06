"""Pages of jobs, newest first: walks along indexes, in stretches that are each bounded.

No index serves every combination of filters. A page walks along the one that has least to pass over, and a caller may
bound how much that is: what it has not come to is left to the next page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from holdfast.kernel.job import Job
from holdfast.store.port import Filter, Page
from holdfast.store.script import Query, Script
from holdfast.store.statements import FILTERS, STANDS, WALKS

FIRST_STRETCH = 200
FEW = 20_000
"""As many jobs that stand elsewhere than at rest are looked through, rather than walked to."""

GROWTH = 8
NARROW = ("parent_id", "key", "correlation_id")
FIRST_ID = "00000000-0000-0000-0000-000000000000"
LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff"


class Walked(NamedTuple):
    """Jobs, newest first, complete down to the id `to`; to the last one there is when that is None."""

    jobs: list[Job]
    to: str | None


def walk(where: Filter, limit: int, before: str, steps: int) -> Script[Walked]:
    """Up to `limit` jobs older than `before`, passing over about `steps` at most that do not match."""
    states = (None,) if where.states is None else tuple(dict.fromkeys(where.states))
    low, high = _bounds(where.id_prefix)
    found = []
    for state in states:
        stretch = (limit, min(before, high), low)
        place = (*stretch, max(1, steps // len(states)))
        equal = _equal(where, state)
        if state is None:
            found.append((yield from _along(equal, *place)))
            continue
        # Jobs under one key are few; else those that stand are, as a rule.
        [(standing,)] = [(FEW + 1,)] if "key" in equal else (yield Query("standing", {"cap": FEW + 1}))
        if standing > FEW:
            found.append((yield from _along(equal, *place, stands=True)))
        else:
            found.append((yield from _along(equal, *place)))
            found.append((yield from _standing(equal, *stretch)))
    return joined(found)


def _standing(equal: Mapping[str, Any], limit: int, before: str, low: str) -> Script[Walked]:
    """Those that can be claimed or are held."""
    others = [name for name in equal if name != "state"]
    params = {**equal, "before": before, "low": low, "most": 2**31, "limit": limit + 1}
    return _walked((yield Query("+".join(["standing_list@standing", *others]), params)), limit, None)


def joined(walks: Iterable[Walked]) -> Walked:
    """Several walks as one: complete only as far as all of them are."""
    walks = list(walks)
    to = max((walked.to for walked in walks if walked.to is not None), default=None)
    jobs = {job.id: job for walked in walks for job in walked.jobs if to is None or job.id >= to}
    return Walked(sorted(jobs.values(), key=lambda job: job.id, reverse=True), to)


def page(walked: Walked, limit: int) -> Page:
    jobs = walked.jobs
    return Page(jobs[:limit], jobs[limit - 1].id if len(jobs) > limit else walked.to)


def _along(
    equal: Mapping[str, Any], limit: int, before: str, low: str, steps: int, *, stands: bool = False
) -> Script[Walked]:
    """One walk. With one job more than the limit it stops, and knows that there are more."""
    ways = _ways({name: value for name, value in equal.items() if not stands or name != "state"})
    if len(ways) == 1 and not _others(ways[0], equal):
        rows = yield _stretch(ways[0], equal, before, low, limit + 1, limit + 1)
        return _walked(rows, limit, None)
    rows = []
    stretch = min(FIRST_STRETCH, steps)
    while True:
        way, reached = yield from _sparsest(ways, equal, before, low, stretch)
        # Twice as far as it should be: some may have come in between since.
        rows += yield _stretch(way, equal, before, reached or low, limit + 1 - len(rows), 2 * stretch + 1, stands)
        steps -= stretch
        if reached is None or steps <= 0 or len(rows) > limit:
            return _walked(rows, limit, reached)
        before, ways, stretch = reached, [way], min(stretch * GROWTH, steps)


def _sparsest(
    ways: Sequence[str], equal: Mapping[str, Any], before: str, low: str, steps: int
) -> Script[tuple[str, str | None]]:
    """The way on which so many steps lead furthest, and where to; None when it ends before."""
    reached: dict[str, str] = {}
    for way in ways:
        rows = yield Query(f"floor@{way}", {**equal, "before": before, "low": low, "steps": steps})
        if not rows or rows[0][0] <= low:
            return way, None
        reached[way] = rows[0][0]
    way = min(reached, key=lambda way: reached[way])
    return way, reached[way]


def _stretch(
    way: str, equal: Mapping[str, Any], before: str, low: str, limit: int, reach: int, stands: bool = False
) -> Query:
    params = {**equal, "before": before, "low": low, "limit": limit, "reach": reach}
    others = [STANDS if stands and name == "state" else name for name in _others(way, equal)]
    return Query("+".join([f"list@{way}", *others]), params)


def _ways(equal: Mapping[str, Any]) -> list[str]:
    """The indexes that may be walked along. A parent, a key or a correlation says more than any other filter."""
    ways = [way for way, columns in WALKS.items() if equal.keys() >= set(columns)]
    return ways[:1] if ways[0] in NARROW or len(ways) == 1 else ways[:-1]


def _others(way: str, equal: Mapping[str, Any]) -> list[str]:
    """The filters that an index does not serve."""
    return [name for name in FILTERS if name in equal and name not in WALKS[way]]


def _walked(rows: Sequence[Any], limit: int, reached: str | None) -> Walked:
    jobs = [Job._make(row) for row in rows]
    return Walked(jobs, jobs[-1].id if len(jobs) > limit else reached)


def _equal(where: Filter, state: str | None) -> dict[str, Any]:
    """The filters that are an equality, by column."""
    given = {**where._asdict(), "state": state}
    return {name: given[name] for name in (*FILTERS, "parent_id") if given[name] is not None}


def _bounds(prefix: str | None) -> tuple[str, str]:
    """The first id with this prefix, and the first behind them all."""
    if prefix is None:
        return FIRST_ID, LAST_ID
    low, last = UUID(prefix + FIRST_ID[len(prefix) :]), UUID(prefix + LAST_ID[len(prefix) :])
    return str(low), LAST_ID if str(last) == LAST_ID else str(UUID(int=last.int + 1))
