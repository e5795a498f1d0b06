"""What workers rely on: keys, the order of claims, fences, leases, limits, and what a running job keeps."""

from __future__ import annotations

import json

from holdfast.kernel.durable import DURABLE
from holdfast.kernel.errors import DuplicateKeyError
from holdfast.kernel.job import Job
from holdfast.kernel.limit import NamedLimit
from holdfast.kernel.move import move
from holdfast.kernel.outcome import Fail, Retry
from holdfast.store.port import Artifact, Lease, Signal, Store, Submitted
from holdfast.testing.store_conformance.pair import (
    FAILURE,
    LEASE_MS,
    NOBODY,
    RACES,
    RIVAL,
    WORKER,
    Check,
    Pair,
    refused,
    together,
)


async def a_held_key_is_answered_as_was_asked(pair: Pair) -> None:
    first = await pair.submit(key="k")
    [returned] = await pair.other.jobs.submit([pair.spec(key="k")])
    assert returned == Submitted(first.id, False), "the job that holds the key is the answer"
    with refused(DuplicateKeyError) as errors:
        await pair.other.jobs.submit([pair.spec(), pair.spec(key="k", duplicates="reject")])
    assert errors[0].job_id == first.id
    assert await pair.store.reads.totals() == (1, 1), "of a rejected call something was stored"
    [new] = await pair.other.jobs.submit([pair.spec(key="k", duplicates="replace")])
    assert new.created
    assert (await pair.job(first.id)).state == "cancelled", "the one that was replaced goes on"
    assert await pair.store.reads.key_holder("task", "k") == new.job_id


async def a_key_is_free_when_its_job_and_its_window_are_over(pair: Pair) -> None:
    job = await pair.running(key="k", key_window_ms=LEASE_MS)
    await pair.end(job)
    within, beyond = pair.spec(key="k", key_window_ms=LEASE_MS), pair.spec(key="k", key_window_ms=LEASE_MS)
    assert await pair.store.jobs.submit([within]) == [Submitted(job.id, False)], "the window is not over"
    pair.database.pass_ms(LEASE_MS)
    several = [beyond, pair.spec(), pair.spec(key="k")]
    answers = await pair.store.jobs.submit(several)
    wanted = [Submitted(beyond.id, True), Submitted(several[1].id, True), Submitted(beyond.id, False)]
    assert answers == wanted, "two with one key in one call are as one after the other"


async def the_most_urgent_is_claimed_first_then_the_longest_due(pair: Pair) -> None:
    now_ms = await pair.store.now_ms()
    wishes = [(0, 300), (5, 200), (-1, 0), (5, 100), (0, 100)]
    jobs = {wish: (await pair.submit(priority=wish[0], due_at_ms=now_ms - 1_000 + wish[1])).id for wish in wishes}
    late = await pair.submit(delay_ms=500, priority=9)
    elsewhere = await pair.submit(queue="another")
    order = [(5, 100), (5, 200), (0, 100), (0, 300), (-1, 0)]
    assert await pair.claimed(2) + await pair.claimed() == [jobs[wish] for wish in order]
    assert await pair.claimed() == [], "a job is claimed before it is due"
    assert pair.store.jobs.opens_in_s == 0.5, "who found nothing knows when there will be something"
    pair.database.pass_ms(499)
    assert await pair.claimed() == [], "a job is claimed before it is due"
    pair.database.pass_ms(1)
    assert await pair.claimed() == [late.id]
    assert await pair.claimed(queue="another") == [elsewhere.id]


async def queues_have_turns_as_their_weights_say(pair: Pair) -> None:
    count = 100
    await pair.store.jobs.submit([pair.spec(queue=queue) for queue in ("light", "heavy") for _ in range(count)])
    taken = [
        job.queue for _ in range(count) for job in await pair.store.jobs.claim({"heavy": 3, "light": 1}, 1, WORKER)
    ]
    heavy = taken.count("heavy")
    assert count / 2 < heavy < count, f"of {count} claims with weights 3 and 1 the heavy queue had {heavy}"


async def no_job_is_claimed_twice(pair: Pair) -> None:
    specs = [pair.spec(priority=n % 2) for n in range(40)]
    await pair.store.jobs.submit(specs)
    taken: list[str] = []
    for _ in specs:
        claims = await pair.both(lambda store: store.jobs.claim(["default"], 1, WORKER))
        taken += [job.id for jobs in claims for job in jobs]
    assert sorted(taken) == [spec.id for spec in specs], "each job is given out once, over all stores"


async def a_late_report_changes_nothing_and_its_neighbours_go_on(pair: Pair) -> None:
    lapsed, lost = await pair.running(lease_ms=1_000), await pair.running(lease_ms=1_000)
    stopped, theirs = await pair.running(), await pair.running(owner=RIVAL)
    fine = await pair.running()
    pair.database.pass_ms(1_000)
    await pair.lose(lost)
    assert await pair.claimed(owner=WORKER) == [lost.id], "a twin of the first worker takes the next attempt"
    await pair.store.jobs.apply(move(DURABLE, [stopped], "cancel", actor="me"))
    late = [lapsed, lost, stopped, theirs]
    before = await pair.dump(*late)
    missing = fine._replace(id=NOBODY)
    words = [Signal(job.id, job.attempt, "job_progress", WORKER, "1") for job in (*late, fine)]
    applied = await pair.end(lapsed, lost, stopped, fine, theirs, missing, words=words)
    assert applied.versions == {fine.id: fine.version + 1}, "one late member of a batch keeps others from their end"
    whys = {refusal.job_id: refusal.why for refusal in applied.refused}
    wanted = {lapsed.id: "lease", lost.id: "stale", stopped.id: "state", theirs.id: "owner", NOBODY: "missing"}
    assert whys == wanted, f"refusals say {whys}"
    assert await pair.dump(*late) == before, "a refused report has changed something, or its words were kept"
    assert len(await pair.store.reads.signals(fine.id)) == 1, "words are kept with the moves that took effect"


async def of_two_reports_at_once_one_counts(pair: Pair) -> None:
    for _ in range(RACES):
        job = await pair.running()
        answers = await together(pair.end(job), pair.end(job, outcome=Fail(FAILURE), store=pair.other))
        assert sorted(len(applied.refused) for applied in answers) == [0, 1], f"a job has two ends: {answers}"


async def a_repeat_under_its_op_id_has_no_second_effect(pair: Pair) -> None:
    specs = [pair.spec(), pair.spec()]
    first = await pair.store.jobs.submit(specs, op_id="submit")
    assert await pair.other.jobs.submit([pair.spec()], op_id="submit") == first
    jobs = await pair.store.jobs.claim(["default"], 1, WORKER, op_id="claim")
    assert await pair.store.jobs.claim(["default"], 1, WORKER, op_id="claim") == jobs, "it claims more"
    back = move(DURABLE, jobs, "hand_back", actor=WORKER, owner=WORKER)
    applied = await pair.store.jobs.apply(back, op_id="apply")
    assert await pair.other.jobs.apply(back, op_id="apply") == applied, "it is answered otherwise than the first"
    assert await pair.store.jobs.claim(["default"], 1, WORKER, op_id="claim") == [], "its owner holds it no more"
    assert await pair.store.reads.totals() == (2, 2)


async def a_renewal_counts_from_now_and_names_the_lost(pair: Pair) -> None:
    mine, lapsed, theirs = await pair.running(), await pair.running(lease_ms=1_000), await pair.running(owner=RIVAL)
    pair.database.pass_ms(1_000)
    before = await pair.dump(lapsed, theirs)
    leases = [Lease(job.id, job.attempt) for job in (mine, lapsed, theirs)]
    lost = await pair.store.jobs.renew(WORKER, [*leases, Lease(NOBODY, 1)])
    assert lost == [lapsed.id, theirs.id, NOBODY], f"a renewal names as lost {lost}"
    assert await pair.store.jobs.renew(WORKER, [Lease(mine.id, 2)]) == [mine.id], "the attempt is the fence"
    assert (await pair.job(mine.id)).lease_until_ms == await pair.store.now_ms() + LEASE_MS
    assert await pair.dump(lapsed, theirs) == before, "a lost lease was renewed"
    assert [job.id for job in await pair.store.upkeep.lost(9)] == [lapsed.id], "nobody reported, and it is not lost"
    await pair.store.jobs.let_go(WORKER, leases)
    found = [job.id for job in await pair.other.upkeep.lost(9)]
    assert sorted(found) == [mine.id, lapsed.id], "what was let go is lost at once, and nothing else is"


async def a_job_is_taken_over_until_its_crashes_are_too_many(pair: Pair) -> None:
    job = await pair.running("pipeline", lease_ms=1_000)
    assert await pair.other.jobs.take_over(["default"], 9, RIVAL) == [], "its lease holds"

    async def taken(store: Store) -> list[Job]:
        return await store.jobs.take_over(["default"], 9, RIVAL)

    for attempt in range(2, pair.store.tables["pipeline"].policies.crash_budget + 1):
        pair.database.pass_ms(1_000)
        assert await pair.store.upkeep.lost(9) == [], "it goes on where it stands"
        [job] = [job for jobs in await pair.both(taken) for job in jobs]
        assert (job.state, job.attempt, job.losses, job.lease_owner) == ("running", attempt, attempt - 1, RIVAL)
    pair.database.pass_ms(1_000)
    assert await pair.other.jobs.take_over(["default"], 9, RIVAL) == [], "it crashed often enough"
    [over] = await pair.store.upkeep.lost(9)
    await pair.lose(over)
    assert (await pair.job(job.id)).state == "failed"


async def what_expires_is_found_while_it_waits(pair: Pair) -> None:
    await pair.running("workflow", expire_after_ms=1_000)
    late, first = [await pair.submit("workflow", expire_after_ms=ms) for ms in (900, 800)]
    assert await pair.store.upkeep.expired(9) == []
    pair.database.pass_ms(1_000)
    assert [job.id for job in await pair.store.upkeep.expired(9)] == [first.id, late.id], "the longest expired first"


async def a_limit_holds_over_all_stores(pair: Pair) -> None:
    options = json.dumps({"limit": NamedLimit("shared", running=2).to_dict()})
    await pair.store.jobs.submit([pair.spec(options=options) for _ in range(9)])
    for _ in range(4):
        claims = await pair.both(lambda store: store.jobs.claim(["default"], 9, WORKER))
        held = [job for jobs in claims for job in jobs]
        held += await pair.store.jobs.claim(["default"], 9, WORKER)
        assert len(held) == 2, f"{len(held)} are let through a limit of two"
        assert await pair.other.jobs.claim(["default"], 9, RIVAL) == []
        assert pair.other.jobs.limited, "the end of a job lets another through"
        await pair.end(*held)


async def what_a_job_keeps_is_under_its_fence(pair: Pair) -> None:
    job, kept = await pair.running(), pair.store.kept

    async def keep(attempt: int, owner: str, text: str) -> list[bool]:
        return [
            await kept.keep_step(job.id, attempt, owner, "one", text),
            await kept.keep_checkpoint(job.id, attempt, owner, text),
            await kept.keep_artifact(job.id, attempt, owner, "file", text.encode()),
        ]

    async def all_kept() -> tuple[str | None, list[tuple[str, int]], str | None, list[Artifact]]:
        return (
            await kept.step(job.id, "one"),
            await kept.steps(job.id),
            await kept.checkpoint(job.id),
            await kept.artifacts(job.id),
        )

    assert await keep(1, WORKER, '"mine"') == [True] * 3
    before = await all_kept()
    assert before[:3] == ('"mine"', [("one", 1)], '"mine"')
    [artifact] = before[3]
    assert b"".join([piece async for piece in pair.other.files.read(artifact.blob)]) == b'"mine"'
    assert await keep(1, RIVAL, "2") + await keep(2, WORKER, "3") == [False] * 6, "another writes into it"
    pair.database.pass_ms(LEASE_MS)
    assert await keep(1, WORKER, "4") == [False] * 3, "it is written to after its lease"
    assert await all_kept() == before, "a refused write has changed something"
    await kept.discard_artifacts(job.id, 1)
    assert await kept.artifact(job.id, "file") is None


async def a_retry_waits_and_is_the_next_attempt(pair: Pair) -> None:
    job = await pair.running()
    await pair.end(job, outcome=Retry(FAILURE, delay_ms=2_000))
    pair.database.pass_ms(1_999)
    assert await pair.claimed() == [], "it is tried again too soon"
    pair.database.pass_ms(1)
    [again] = await pair.other.jobs.claim(["default"], 9, RIVAL)
    assert (again.id, again.attempt, again.tries) == (job.id, 2, 2)


CHECKS: tuple[Check, ...] = (
    a_held_key_is_answered_as_was_asked,
    a_key_is_free_when_its_job_and_its_window_are_over,
    the_most_urgent_is_claimed_first_then_the_longest_due,
    queues_have_turns_as_their_weights_say,
    no_job_is_claimed_twice,
    a_late_report_changes_nothing_and_its_neighbours_go_on,
    of_two_reports_at_once_one_counts,
    a_repeat_under_its_op_id_has_no_second_effect,
    a_renewal_counts_from_now_and_names_the_lost,
    a_job_is_taken_over_until_its_crashes_are_too_many,
    what_expires_is_found_while_it_waits,
    a_limit_holds_over_all_stores,
    what_a_job_keeps_is_under_its_fence,
    a_retry_waits_and_is_the_next_attempt,
)
