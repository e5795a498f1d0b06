"""Several begin at once with members of one batch: nobody's move is lost, and each counts once."""

from __future__ import annotations

from holdfast.kernel.decisions import cancel
from holdfast.store.port import Ask
from holdfast.testing.store_conformance.batch import RESULT, Fields, back, batch_of, ended, in_ms, lost, now, reap
from holdfast.testing.store_conformance.pair import LEASE_MS, WORKER, Check, Pair, together

ROUNDS = 2
"""Each has several moves, so that fewer do than elsewhere."""
SHORT_MS = 1_000


async def two_processes_end_different_members_at_once(pair: Pair) -> None:
    for _ in range(ROUNDS):
        batch = await batch_of(pair, 8)
        calls = (batch.end(0, 2, 4), batch.end(5, 3, 1, store=pair.other))
        assert [applied.refused for applied in await together(*calls)] == [[], []], "one keeps the other from its end"
        await batch.are({n: ended() for n in range(6)}, "who ended at once with another is not over")
        applied = await together(batch.end(6, 7), batch.end(7, 6, store=pair.other))
        assert sorted(len(answer.versions) for answer in applied) == [0, 2], f"two have two ends: {applied}"
        await batch.are({6: ended(), 7: ended()})


async def whatever_comes_at_once_comes_to_its_member_alone(pair: Pair) -> None:
    jobs, others = pair.store.jobs, pair.other.jobs
    for _ in range(ROUNDS):
        batch = await batch_of(pair, 8)
        pair.database.pass_ms(10)
        await together(
            jobs.apply([batch.along([0, 7], "succeed", outcome=RESULT)]),
            others.renew(WORKER, batch.leases(1, 6), beat=False),
            jobs.request_cancel(batch.leases(2), "soft: enough"),
            others.let_go(WORKER, batch.leases(3)),
            jobs.change([batch[4].id], cancel("enough", "hard"), Ask()),
            others.apply([batch.along([5], "retry")]),
        )
        renewed: Fields = {"lease_until_ms": in_ms(LEASE_MS)}
        became = {0: ended(), 1: renewed, 2: {"cancel_requested": "soft: enough"}, 3: {"lease_until_ms": now}}
        await batch.are({**became, 4: ended("cancelled"), 5: back(), 6: renewed, 7: ended()}, "a writer is lost")
        await pair.store.jobs.change([batch[5].id], cancel("enough"), Ask())
        pair.database.pass_ms(LEASE_MS)
        await pair.lose(*await pair.store.upkeep.lost(9))
        await pair.store.jobs.change([job.id for job in batch.some(1, 3, 6)], cancel("enough"), Ask())


async def a_cancel_and_the_ends_of_neighbours_come_at_once(pair: Pair) -> None:
    batch = await batch_of(pair, 4)
    stopping = pair.other.jobs.change([batch[1].id, batch[2].id], cancel("enough", "hard"), Ask())
    await together(stopping, batch.end(3, 0))
    await batch.are(
        {0: ended(), 1: ended("cancelled"), 2: ended("cancelled"), 3: ended()}, "one of two writers is lost"
    )


async def two_that_find_the_lost_count_each_loss_once(pair: Pair) -> None:
    for _ in range(ROUNDS):
        batch = await batch_of(pair, 4, lease_ms=SHORT_MS)
        await batch.end(0)
        pair.database.pass_ms(SHORT_MS)
        await batch.look()
        found = await pair.both(lambda store: store.upkeep.lost(9))
        assert [len(jobs) for jobs in found] == [3, 3]
        moved = await together(reap(pair.store, found[0][:2]), reap(pair.other, found[1]))
        assert sum(moved) == 3, "one loss is counted twice"
        await batch.are({n: lost() for n in (1, 2, 3)})
        await pair.store.jobs.change([job.id for job in batch.some(1, 2, 3)], cancel("enough"), Ask())


CHECKS: tuple[Check, ...] = (
    two_processes_end_different_members_at_once,
    whatever_comes_at_once_comes_to_its_member_alone,
    a_cancel_and_the_ends_of_neighbours_come_at_once,
    two_that_find_the_lost_count_each_loss_once,
)
