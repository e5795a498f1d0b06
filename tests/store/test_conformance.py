"""Both stores keep the contract of the port; and one that does not is found out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import asyncpg
import pytest

from holdfast.catalog import KNOWN
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.job import Job, Spec
from holdfast.store.open import asubmit_in
from holdfast.store.port import Applied, Facts, Lease, Store
from holdfast.testing import store_conformance as suite
from holdfast.testing.store_conformance import Check, asked, pair_of, read, worked
from tests.store.conftest import Opener
from tests.store.scenes import Clock


class Ours:
    """One of our databases, as the suite wants it; `spoil` makes its stores worse than they are."""

    def __init__(self, opener: Opener, clock: Clock, dsn: str | None) -> None:
        self._opener = opener
        self._clock = clock
        self._dsn = dsn
        self.spoil: Callable[[Any], None] = lambda store: None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Store]:
        async with self._opener() as store:
            self.spoil(store)
            yield store
            await store.wakeups.close()  # type: ignore[attr-defined] # its driver is shared, and stays open

    def pass_ms(self, ms: int) -> None:
        self._clock.advance(ms)

    def late(self, specs: Sequence[Spec]) -> AbstractAsyncContextManager[None] | None:
        return None if self._dsn is None else self._late(self._dsn, specs)

    @asynccontextmanager
    async def _late(self, dsn: str, specs: Sequence[Spec]) -> AsyncIterator[None]:
        connection = await asyncpg.connect(dsn)
        try:
            async with connection.transaction():
                await asubmit_in(connection, specs, KNOWN)
                yield
        finally:
            await connection.close()


@pytest.fixture
def ours(request: pytest.FixtureRequest, database: Opener, clock: Clock) -> Ours:
    is_postgres = request.node.callspec.params["database"] == "postgres"
    return Ours(database, clock, request.getfixturevalue("postgres_suite_dsn") if is_postgres else None)


@pytest.mark.parametrize("check", suite.CHECKS, ids=lambda check: check.__name__)
async def test_stores(check: Check, ours: Ours) -> None:
    async with pair_of(ours) as pair:
        await check(pair)


def test_every_check_of_the_suite_is_run() -> None:
    written = [
        name
        for part in (worked, asked, read)
        for name, value in vars(part).items()
        if getattr(value, "__annotations__", {}) == {"pair": "Pair", "return": "None"}
    ]
    assert [check.__name__ for check in suite.CHECKS] == written


class Spoilt:
    """A part of a store, but for what its subclass does instead."""

    def __init__(self, part: Any) -> None:
        self.part = part

    def __getattr__(self, name: str) -> Any:
        return getattr(self.part, name)


class Careless(Spoilt):
    """Says of no lease that it is lost."""

    async def renew(self, owner: str, leases: Sequence[Lease], *, beat: bool = True) -> list[str]:
        await self.part.renew(owner, leases, beat=beat)
        return []


class Generous(Spoilt):
    """Gives out what runs already."""

    async def claim(self, queues: Any, limit: int, owner: str, **how: Any) -> list[Job]:
        jobs: list[Job] = await self.part.claim(queues, limit, owner, **how)
        self.given = [*getattr(self, "given", []), *jobs]
        return jobs or self.given[-1:]


class Heedless(Spoilt):
    """Changes a job whatever version it is at, and remembers no request."""

    async def change(self, job_ids: Any, decide: Any, ask: Any) -> Facts:
        changed: Facts = await self.part.change(job_ids, decide, ask._replace(versions=None, op_id=None))
        return changed


class Chatty(Spoilt):
    """Keeps the words of every report, late or not."""

    async def apply(self, changes: Any, words: Any = (), **how: Any) -> Applied:
        await self.part.signal(words)
        applied: Applied = await self.part.apply(changes, **how)
        return applied


class Hasty(Spoilt):
    """Hands out all that there is, and never looks back."""

    def feed(self, after: int = 0) -> Any:
        return Skipping(self.part.feed(after))


class Skipping(Spoilt):
    async def next(self, limit: int = 1000) -> Any:
        events = await self.part.next(limit)
        return events[1:]


class Deaf(Spoilt):
    """Whoever waits sleeps through what rang before."""

    async def wait(self, ticket: int, timeout_s: float) -> None:
        await self.part.wait(self.part.ticket(), timeout_s)


@pytest.mark.parametrize(
    ("part", "worse", "check"),
    [
        ("jobs", Careless, worked.a_renewal_counts_from_now_and_names_the_lost),
        ("jobs", Generous, worked.no_job_is_claimed_twice),
        ("jobs", Generous, worked.a_limit_holds_over_all_stores),
        ("jobs", Heedless, asked.a_change_may_insist_on_a_version),
        ("jobs", Heedless, asked.a_request_that_is_repeated_is_told_the_same),
        ("jobs", Chatty, worked.a_late_report_changes_nothing_and_its_neighbours_go_on),
        ("log", Hasty, read.a_feed_misses_nothing_that_commits_late),
        ("wakeups", Deaf, read.a_ring_behind_a_ticket_is_not_slept_through),
    ],
)
async def test_one_that_breaks_the_contract_is_found_out(
    part: str, worse: type[Spoilt], check: Check, ours: Ours, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "BOUND_S", 0.2)
    ours.spoil = lambda store: setattr(store, part, worse(getattr(store, part)))
    with pytest.raises((AssertionError, HoldfastError)):
        async with pair_of(ours) as pair:
            await check(pair)
