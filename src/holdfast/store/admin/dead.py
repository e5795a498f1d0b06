"""Dead letters, in their table."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.kernel.errors import StoreError
from holdfast.kernel.job import Spec, is_id
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.payload.encoding import plain
from holdfast.observe import transitions
from holdfast.store.dialect import Dialect
from holdfast.store.jobs.admission import Admission
from holdfast.store.jobs.submitting import submit
from holdfast.store.port import ALL, REPLAYED, DeadLetter, DeadPage, Group, Submitted, Wanted
from holdfast.store.read.listing import LAST_ID
from holdfast.store.script import Many, Query, Script, rows_of

if TYPE_CHECKING:
    from holdfast.store.database import Driver

DISCARDED = "discarded: "
FAR_MS = 2**62
COUNTED = 10_000
Tables = Callable[[], Awaitable[Mapping[str, Lifecycle]]]


class SqlDeadLetters:
    """See `holdfast.store.port.DeadLetters`. `tables` are all that there are, those of other processes too."""

    def __init__(self, driver: Driver, tables: Tables) -> None:
        self._driver = driver
        self._tables = tables

    async def _rows(self, name: str, **params: Any) -> list[Any]:
        return await self._driver.read(rows_of(name, params))

    async def page(self, wanted: Wanted, *, limit: int = 50, cursor: str | None = None, steps: int = ALL) -> DeadPage:
        """One keyset page. A cursor that was not given out by `page` is a StoreError.

        No more than `steps` letters are looked at: a page may be short, even empty, and lead on.
        """
        return await self._driver.read(
            _page(wanted, limit, (FAR_MS, LAST_ID) if cursor is None else _place(cursor), steps)
        )

    def is_place(self, cursor: str) -> bool:
        return _is_place(cursor)

    async def of(self, job_ids: Sequence[str]) -> list[DeadLetter]:
        """The letters of these jobs, resolved or not, in no particular order."""
        ids = self._driver.dialect.array([job_id for job_id in job_ids if is_id(job_id)])
        return [DeadLetter._make(row) for row in await self._rows("dead_of", ids=ids)]

    async def groups(self, *, limit: int = 50) -> list[Group]:
        """Open letters by fingerprint, the largest group first. No more than the newest 10,000 letters are counted."""
        rows = await self._rows("dead_groups", limit=limit, reach=COUNTED)
        uncounted = await self._rows("dead_floor", before_ms=FAR_MS, before_id=LAST_ID, reach=COUNTED + 1)
        examples = {letter.job_id: letter for letter in await self.of([row[4] for row in rows])}
        return [
            Group(fingerprint, letters, first_ms, last_ms, examples[job_id], not uncounted)
            for fingerprint, letters, first_ms, last_ms, job_id in rows
            if job_id in examples
        ]

    async def counts(self) -> tuple[int, int]:
        """How many letters are open, and how many are resolved."""
        [(waiting, resolved)] = await self._rows("dead_counts")
        return waiting, resolved

    async def replay(self, specs: Mapping[str, Spec]) -> dict[str, Submitted]:
        """Submit a new job for each dead job's id, and note it in its letter.

        One that was replayed before is answered with the job that it became. Ids without a letter are left out.
        """
        tables = await self._tables()
        answers = await self._driver.write(replay(self._driver.dialect, Admission(tables), specs))
        made = [specs[old] for old, new in answers.items() if new.created]
        transitions.submitted((spec, tables[spec.lifecycle].submit_event) for spec in made)
        return answers

    async def discard(self, job_ids: Sequence[str], reason: str) -> list[str]:
        """Resolve letters without a replay; the ids of those that were open."""
        plain("reason", reason)
        ids = [job_id for job_id in job_ids if is_id(job_id)]
        return await self._driver.write(_discard(self._driver.dialect, ids, reason))


def _page(wanted: Wanted, limit: int, before: tuple[int, str], steps: int) -> Script[DeadPage]:
    behind = {"before_ms": before[0], "before_id": before[1], "reach": steps}
    resolved = None if wanted.resolved is None else int(wanted.resolved)
    rows = yield Query("dead_page", wanted._asdict() | behind | {"limit": limit + 1, "resolved": resolved})
    letters = [DeadLetter._make(row) for row in rows]
    if len(letters) > limit:
        last = letters[limit - 1]
        return DeadPage(letters[:limit], f"{last.at_ms}.{last.job_id}")
    reached = (yield Query("dead_floor", behind)) if steps < ALL else []
    return DeadPage(letters, f"{reached[0][0]}.{reached[0][1]}" if reached else None)


def replay(dialect: Dialect, admission: Admission, specs: Mapping[str, Spec]) -> Script[dict[str, Submitted]]:
    answers: dict[str, Submitted] = {}
    fresh: list[str] = []
    # Taken before anything is submitted: of two replays of one letter the second finds what the first did.
    for job_id, resolution in (yield Query("dead_take", {"ids": dialect.array(sorted(specs))})):
        if (resolution or "").startswith(REPLAYED):
            answers[job_id] = Submitted(resolution.removeprefix(REPLAYED), False)
        else:
            fresh.append(job_id)
    if fresh:
        made = yield from submit(dialect, admission, [specs[job_id] for job_id in fresh])
        yield Many("dead_resolve", [(f"{REPLAYED}{new.job_id}", old) for old, new in zip(fresh, made, strict=True)])
        answers |= zip(fresh, made, strict=True)
    return answers


def _discard(dialect: Dialect, job_ids: Sequence[str], reason: str) -> Script[list[str]]:
    rows = yield Query("dead_take", {"ids": dialect.array(sorted(job_ids))})
    still = [job_id for job_id, resolution in rows if resolution is None]
    if still:
        yield Many("dead_resolve", [(f"{DISCARDED}{reason}", job_id) for job_id in still])
    return still


def _is_place(cursor: str) -> bool:
    at, _, job_id = cursor.partition(".")
    return at.isdecimal() and len(at) <= 18 and is_id(job_id)


def _place(cursor: str) -> tuple[int, str]:
    if not _is_place(cursor):
        raise StoreError(f"cursor {cursor!r} was not given out by a list", field="cursor", remedy="start without one")
    at, _, job_id = cursor.partition(".")
    return int(at), job_id
