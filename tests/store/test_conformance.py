"""Both stores keep the contract of the port; and one that does not is found out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.job import Job
from holdfast.store.port import Applied, Facts, Lease
from holdfast.testing import store_conformance as suite
from holdfast.testing.store_conformance import Check, asked, pair_of, read, worked
from tests.store.ours import Ours, Spoilt


@pytest.mark.parametrize("check", suite.CHECKS, ids=lambda check: check.__name__)
async def test_stores(check: Check, ours: Ours) -> None:
    async with pair_of(ours) as pair:
        await check(pair)


def test_every_check_of_the_suite_is_run() -> None:
    written = [
        name
        for part in suite.PARTS
        for name, value in vars(part).items()
        if getattr(value, "__annotations__", {}) == {"pair": "Pair", "return": "None"}
    ]
    assert [check.__name__ for check in suite.CHECKS] == written


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
        return Skipping(self.part.feed(after), self.store)


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
    ours.worsen(part, worse)
    with pytest.raises((AssertionError, HoldfastError)):
        async with pair_of(ours) as pair:
            await check(pair)
