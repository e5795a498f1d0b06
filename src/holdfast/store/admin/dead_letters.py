"""Dead letters: looked at by person or program, then replayed or discarded. A resolved letter stays on record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.kernel.errors import StoreError
from holdfast.kernel.job import Spec
from holdfast.observe import transitions
from holdfast.store.dialect import Dialect
from holdfast.store.jobs.admission import Door, plain
from holdfast.store.jobs.submitting import submit
from holdfast.store.port import Submitted
from holdfast.store.read.listing import LAST_ID
from holdfast.store.read.reading import is_id
from holdfast.store.script import Many, Query, Script

if TYPE_CHECKING:
    from holdfast.store.sql_store import SqlStore

REPLAYED = "replayed:"
DISCARDED = "discarded: "
FAR_MS = 2**62
COUNTED = 10_000
ALL = 2**31 - 1
"""As many letters as there are."""


class Letter(NamedTuple):
    """A dead letter, and what its job was to do."""

    job_id: str
    at_ms: int
    reason_code: str
    stage: str
    last_error: str | None
    attempts: int
    last_owner: str | None
    last_lease_expires_at_ms: int | None
    correlation_id: str
    fingerprint: str
    resolution: str | None
    task: str
    queue: str

    @property
    def replayed_as(self) -> str | None:
        """The id of the job that it was replayed as."""
        said = self.resolution or ""
        return said.removeprefix(REPLAYED) if said.startswith(REPLAYED) else None

    @property
    def became(self) -> str | None:
        """Its resolution in words."""
        return f"replayed as {self.replayed_as}" if self.replayed_as else self.resolution


class Group(NamedTuple):
    """Open letters that failed alike, and the newest of them. One that is not exact may have more, and older ones."""

    fingerprint: str
    letters: int
    first_at_ms: int
    last_at_ms: int
    example: Letter
    is_exact: bool = True


class Wanted(NamedTuple):
    """Which letters. None means any; `resolved` False means those that still wait for somebody."""

    reason_code: str | None = None
    stage: str | None = None
    task: str | None = None
    fingerprint: str | None = None
    resolved: bool | None = False


class Letters(NamedTuple):
    """Letters, newest first, and the cursor of the next page; None at the end."""

    items: list[Letter]
    next_cursor: str | None


class DeadLetters:
    """Reads, and the two ways to resolve. Each call is one transaction."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store
        self._driver = store.driver

    async def _rows(self, name: str, **params: Any) -> list[Any]:
        return await self._driver.read(_one(Query(name, params)))

    async def page(self, wanted: Wanted, *, limit: int = 50, cursor: str | None = None, steps: int = ALL) -> Letters:
        """One keyset page. A cursor that was not given out by `page` is a StoreError.

        No more than `steps` letters are looked at: a page may be short, even empty, and lead on.
        """
        return await self._driver.read(
            _page(wanted, limit, (FAR_MS, LAST_ID) if cursor is None else _place(cursor), steps)
        )

    async def of(self, job_ids: Sequence[str]) -> list[Letter]:
        """The letters of these jobs, resolved or not, in no particular order."""
        ids = self._driver.dialect.array([job_id for job_id in job_ids if is_id(job_id)])
        return [Letter._make(row) for row in await self._rows("dead_of", ids=ids)]

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
        tables = await self._store.reads.lifecycles()
        answers = await self._driver.write(_replay(self._driver.dialect, Door(tables), specs))
        made = [specs[old] for old, new in answers.items() if new.created]
        transitions.submitted((spec, tables[spec.lifecycle].submit_event) for spec in made)
        return answers

    async def discard(self, job_ids: Sequence[str], reason: str) -> list[str]:
        """Resolve letters without a replay; the ids of those that were open."""
        plain("reason", reason)
        ids = [job_id for job_id in job_ids if is_id(job_id)]
        return await self._driver.write(_discard(self._driver.dialect, ids, reason))


def _page(wanted: Wanted, limit: int, before: tuple[int, str], steps: int) -> Script[Letters]:
    behind = {"before_ms": before[0], "before_id": before[1], "reach": steps}
    resolved = None if wanted.resolved is None else int(wanted.resolved)
    rows = yield Query("dead_page", wanted._asdict() | behind | {"limit": limit + 1, "resolved": resolved})
    letters = [Letter._make(row) for row in rows]
    if len(letters) > limit:
        last = letters[limit - 1]
        return Letters(letters[:limit], f"{last.at_ms}.{last.job_id}")
    floor = (yield Query("dead_floor", behind)) if steps < ALL else []
    return Letters(letters, f"{floor[0][0]}.{floor[0][1]}" if floor else None)


def _replay(dialect: Dialect, door: Door, specs: Mapping[str, Spec]) -> Script[dict[str, Submitted]]:
    answers: dict[str, Submitted] = {}
    fresh: list[str] = []
    # Taken before anything is submitted: of two replays of one letter the second finds what the first did.
    for job_id, resolution in (yield Query("dead_take", {"ids": dialect.array(sorted(specs))})):
        if (resolution or "").startswith(REPLAYED):
            answers[job_id] = Submitted(resolution.removeprefix(REPLAYED), False)
        else:
            fresh.append(job_id)
    if fresh:
        made = yield from submit(dialect, door, [specs[job_id] for job_id in fresh])
        yield Many("dead_resolve", [(f"{REPLAYED}{new.job_id}", old) for old, new in zip(fresh, made, strict=True)])
        answers |= zip(fresh, made, strict=True)
    return answers


def _discard(dialect: Dialect, job_ids: Sequence[str], reason: str) -> Script[list[str]]:
    rows = yield Query("dead_take", {"ids": dialect.array(sorted(job_ids))})
    still = [job_id for job_id, resolution in rows if resolution is None]
    if still:
        yield Many("dead_resolve", [(f"{DISCARDED}{reason}", job_id) for job_id in still])
    return still


def is_place(cursor: str) -> bool:
    """Whether a cursor looks like one that `page` gives out."""
    at, _, job_id = cursor.partition(".")
    return at.isdecimal() and len(at) <= 18 and is_id(job_id)


def _place(cursor: str) -> tuple[int, str]:
    if not is_place(cursor):
        raise StoreError(f"cursor {cursor!r} was not given out by a list", field="cursor", remedy="start without one")
    at, _, job_id = cursor.partition(".")
    return int(at), job_id


def _one(query: Query) -> Script[list[Any]]:
    rows = yield query
    return rows
