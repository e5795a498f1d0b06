"""A store that holds jobs by batches can be wrong in ways that one that holds them singly cannot: each is found out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.event import Event
from holdfast.kernel.job import Job
from holdfast.kernel.move import Change
from holdfast.store.port import Applied, Filter, Lease, Refusal
from holdfast.testing.store_conformance import (
    Check,
    batch_belongings,
    batch_leases,
    batch_log,
    batch_parts,
    batch_reports,
    pair_of,
)
from tests.store.ours import Ours, Spoilt


class ByBatch(Spoilt):
    async def held_by(self, owner: str) -> list[Lease]:
        leased = await self.store.admin.queues.leases(limit=1_000)
        return [Lease(job.id, job.attempt) for job in leased if job.lease_owner == owner]


class RenewsAll(ByBatch):
    """Renews all that the owner holds with any of it."""

    async def renew(self, owner: str, leases: Sequence[Lease], *, beat: bool = True) -> list[str]:
        await self.part.renew(owner, await self.held_by(owner), beat=False)
        lost: list[str] = await self.part.renew(owner, leases, beat=beat)
        return lost


class LetsAllGo(ByBatch):
    """Lets all go with any of it."""

    async def let_go(self, owner: str, leases: Sequence[Lease]) -> None:
        await self.part.let_go(owner, await self.held_by(owner))


class EndsAll(ByBatch):
    """Ends the lease of all with the end of one."""

    async def apply(self, changes: Sequence[Change], words: Any = (), **how: Any) -> Applied:
        applied: Applied = await self.part.apply(changes, words, **how)
        for owner in {change.owner for change in changes if change.owner and applied.versions}:
            await self.part.let_go(owner, await self.held_by(owner))
        return applied


class AsksAll(ByBatch):
    """Asks all to stop where one is to."""

    async def request_cancel(self, leases: Sequence[Lease], mode: str) -> list[str]:
        await self.part.request_cancel(await self.held_by("worker-1"), mode)
        asked: list[str] = await self.part.request_cancel(leases, mode)
        return asked


class Unfenced(Spoilt):
    """Takes a report of any attempt for one of the last."""

    async def apply(self, changes: Sequence[Change], words: Any = (), **how: Any) -> Applied:
        stands = await self.part.stand([move.job_id for change in changes for move in change.moves])
        attempts = {stand.job_id: stand.attempt for stand in stands}
        for change in changes:
            moves = [move._replace(attempt=attempts.get(move.job_id, move.attempt)) for move in change.moves]
            change.moves[:] = moves
        applied: Applied = await self.part.apply(changes, words, **how)
        return applied


class Anyones(Spoilt):
    """Asks nobody whose lease it is, or whether it holds."""

    async def apply(self, changes: Sequence[Change], words: Any = (), **how: Any) -> Applied:
        free = [change._replace(owner=None) for change in changes]
        applied: Applied = await self.part.apply(free, words, **how)
        return applied


class AllOrNothing(Spoilt):
    """Refuses a whole change for one of its moves."""

    async def apply(self, changes: Sequence[Change], words: Any = (), **how: Any) -> Applied:
        good, refused = [], []
        for change in changes:
            stands = {stand.job_id: stand for stand in await self.part.stand([move.job_id for move in change.moves])}
            source = change.path[0].source.value
            fine = [(source, move.attempt) == stands.get(move.job_id, "???")[1:3] for move in change.moves]
            if all(fine):
                good.append(change)
            else:
                refused += [Refusal(move.job_id, "state") for move in change.moves]
        applied: Applied = await self.part.apply(good, words, **how)
        return applied._replace(refused=applied.refused + refused)


class MixesUp(Spoilt):
    """Records with each member what was reported of the next."""

    async def apply(self, changes: Sequence[Change], words: Any = (), **how: Any) -> Applied:
        for change in changes:
            whole = change.moves[1:] + change.moves[:1]
            fences = [move[:2] for move in change.moves]
            change.moves[:] = [move._replace(job_id=f[0], attempt=f[1]) for move, f in zip(whole, fences, strict=True)]
        applied: Applied = await self.part.apply(changes, words, **how)
        return applied


class OneDelay(Spoilt):
    """Lets all that are tried again wait as long as the first."""

    async def apply(self, changes: Sequence[Change], words: Any = (), **how: Any) -> Applied:
        for change in changes:
            change.moves[:] = [move._replace(delay_ms=change.moves[0].delay_ms) for move in change.moves]
        applied: Applied = await self.part.apply(changes, words, **how)
        return applied


class OnePath(Spoilt):
    """Moves all of a call along the path of its first change."""

    async def apply(self, changes: Sequence[Change], words: Any = (), **how: Any) -> Applied:
        alike = [change._replace(path=changes[0].path, lifecycle=changes[0].lifecycle) for change in changes]
        applied: Applied = await self.part.apply(alike, words, **how)
        return applied


class Mourning(Spoilt):
    """Counts who has ended among the lost of its batch."""

    async def lost(self, limit: int) -> list[Job]:
        lost: list[Job] = await self.part.lost(limit)
        over = await self.store.reads.list(Filter(states=("succeeded",)))
        return [*lost, *over.items] if lost else []


class OfOne(Spoilt):
    """Finds one lost job of each owner."""

    async def lost(self, limit: int) -> list[Job]:
        return list({job.lease_owner: job for job in await self.part.lost(limit)}.values())


class Trusting(Spoilt):
    """Lets whoever has been in a batch write as long as somebody holds a part of it."""

    async def keep_step(self, *_: Any) -> bool:
        return bool(await self.store.admin.queues.leases())

    keep_checkpoint = keep_artifact = keep_step


class Remembering(Spoilt):
    """Reads a job as it was when it was first read."""

    async def get_many(self, job_ids: list[str]) -> list[Job]:
        seen = self.__dict__.setdefault("seen", {})
        for job in await self.part.get_many(job_ids):
            seen.setdefault(job.id, job)
        return [seen[job_id] for job_id in job_ids]


class Rounding(Spoilt):
    """Starts behind all of the batch that a position lies in."""

    def feed(self, after: int = 0) -> Any:
        return WholeBatches(self.part.feed(after), self.store)


class WholeBatches(Spoilt):
    async def next(self, limit: int = 1000) -> list[Event]:
        events = await self.part.next(1_000)
        batch = [event for event in events if event[3:7] == events[0][3:7]]
        self.part.position = batch[-1].pos if batch else self.part.position
        return batch[:limit]


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)  # what spoils a store is the same on both
@pytest.mark.parametrize(
    ("part", "worse", "check"),
    [
        ("jobs", RenewsAll, batch_leases.a_lease_is_renewed_for_some_and_lapses_for_others),
        ("jobs", RenewsAll, batch_leases.leases_of_several_batches_are_renewed_in_one_call),
        ("jobs", LetsAllGo, batch_leases.some_are_let_go_and_the_others_are_held),
        ("jobs", EndsAll, batch_reports.members_end_one_by_one_in_any_order),
        ("jobs", EndsAll, batch_parts.some_start_and_some_are_handed_back),
        ("jobs", AsksAll, batch_parts.a_member_is_asked_to_stop_and_its_neighbours_are_not),
        ("jobs", Unfenced, batch_reports.a_fence_that_is_seen_again_is_over),
        ("jobs", Unfenced, batch_reports.each_bad_report_is_refused_with_its_why_and_the_good_count),
        ("jobs", Anyones, batch_leases.some_of_a_lapsed_batch_are_taken_over),
        ("jobs", Anyones, batch_parts.a_lease_is_kept_in_another_held_state),
        ("jobs", AllOrNothing, batch_reports.a_second_report_of_a_member_is_refused_and_the_rest_of_its_call_counts),
        ("jobs", AllOrNothing, batch_parts.a_member_is_cancelled_while_its_neighbours_finish),
        ("jobs", MixesUp, batch_reports.what_is_recorded_goes_to_its_member),
        ("jobs", OneDelay, batch_parts.members_are_tried_again_dead_lettered_and_handed_back_in_one_call),
        ("jobs", OnePath, batch_parts.halves_of_a_batch_take_paths_of_several_steps),
        ("jobs", OnePath, batch_parts.a_batch_mixes_lifecycles_queues_priorities_and_leases),
        ("upkeep", Mourning, batch_leases.of_a_batch_that_was_partly_done_only_the_rest_is_lost),
        ("upkeep", OfOne, batch_leases.a_lost_list_is_of_jobs_and_the_first_to_lapse_leads_it),
        ("kept", Trusting, batch_belongings.a_member_keeps_what_it_makes_whatever_its_neighbours_do),
        ("reads", Remembering, batch_reports.two_steps_of_one_call_follow_each_other),
        ("log", Rounding, batch_log.a_reader_sees_each_event_once_however_it_reads),
    ],
)
async def test_one_that_takes_a_batch_for_a_whole_is_found_out(
    part: str, worse: type[Spoilt], check: Check, ours: Ours
) -> None:
    ours.worsen(part, worse)
    with pytest.raises((AssertionError, HoldfastError)):
        async with pair_of(ours) as pair:
            await check(pair)
