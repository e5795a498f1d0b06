"""Idempotency keys: how long a key is held, and what a second submit gets meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.kernel.errors import DuplicateKeyError
from holdfast.kernel.lifecycle import Command
from holdfast.kernel.move import move
from holdfast.kernel.policy import DAY_MS, HOUR_MS
from holdfast.store.port import Store, Submitted
from holdfast.systems.sandbox.client_id import client_job_id
from tests.store.scenes import Clock, assert_all_clean, bring, everything, fetch, spec, submit, take


async def again(store: Store, lifecycle: str, **fields: Any) -> Submitted:
    """One more submit under the key `k`."""
    [answer] = await store.jobs.submit([spec(lifecycle, **({"key": "k"} | fields))])
    return answer


@pytest.mark.parametrize("state", ["queued", "assigned", "running"])
async def test_while_live_a_key_returns_its_job(store: Store, clock: Clock, state: str) -> None:
    job = await bring(store, clock, store.tables["durable"], state, key="k")
    clock.advance(365 * DAY_MS)
    before = await everything(store)
    assert await again(store, "durable") == Submitted(job.id, False)
    assert await everything(store) == before
    assert await store.reads.key_holder("task", "k") == job.id


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled", "dead_lettered"])
async def test_a_job_that_is_over_gives_up_its_key(store: Store, clock: Clock, state: str) -> None:
    job = await bring(store, clock, store.tables["durable"], state, key="k")
    second = await again(store, "durable")
    assert second.created
    assert second.job_id != job.id
    assert await store.reads.key_holder("task", "k") == second.job_id
    assert await again(store, "durable") == Submitted(second.job_id, False)
    await assert_all_clean(store)


@pytest.mark.rule("C04")
@pytest.mark.parametrize("state", ["queued", "running", "succeeded", "failed", "cancelled"])
async def test_a_crawl_key_is_held_for_a_day(store: Store, clock: Clock, state: str) -> None:
    start_ms = clock.now_ms
    job = await bring(store, clock, store.tables["crawl"], state, key="k")
    clock.now_ms = start_ms + DAY_MS - 1
    before = await everything(store)
    assert await again(store, "crawl") == Submitted(job.id, False)
    assert await everything(store) == before
    clock.now_ms = start_ms + DAY_MS
    second = await again(store, "crawl")
    assert second.created
    assert second.job_id != job.id
    assert await again(store, "crawl") == Submitted(second.job_id, False)


@pytest.mark.rule("S08")
@pytest.mark.parametrize(
    ("state", "held"),
    [
        ("waiting", True),
        ("queued", True),
        ("assigned", True),
        ("running", True),
        ("succeeded", True),
        ("failed", True),
        ("timed_out", True),
        ("cancelled", True),
        ("cleaning", True),
        ("cleaned", False),
    ],
)
async def test_a_sandbox_key_is_held_until_the_job_is_cleaned(
    store: Store, clock: Clock, state: str, held: bool
) -> None:
    job = await bring(store, clock, store.tables["sandbox"], state, key="k")
    clock.advance(30 * DAY_MS)
    answer = await again(store, "sandbox")
    assert answer.created is not held
    assert (answer.job_id == job.id) is held


async def test_a_workflow_rejects_and_stores_nothing_of_the_call(store: Store) -> None:
    first = await submit(store, "workflow", key="k")
    before = await everything(store)
    with pytest.raises(DuplicateKeyError) as held:
        await store.jobs.submit([spec("workflow"), spec("workflow", key="k2"), spec("workflow", key="k"), spec()])
    assert (held.value.scope, held.value.key, held.value.job_id) == ("task", "k", first.id)
    assert await everything(store) == before
    assert await store.reads.key_holder("task", "k2") is None


@pytest.mark.parametrize("lifecycle", ["durable", "workflow", "sandbox", "crawl", "pipeline"])
@pytest.mark.parametrize("policy", ["return", "reject", "replace", "allow"])
async def test_a_spec_may_choose_its_policy(store: Store, lifecycle: str, policy: str) -> None:
    first = await submit(store, lifecycle, key="k")
    if policy == "reject":
        with pytest.raises(DuplicateKeyError):
            await again(store, lifecycle, duplicates=policy)
        assert await store.reads.totals() == (1, 1)
        return
    answer = await again(store, lifecycle, duplicates=policy)
    assert answer.created is (policy != "return")
    assert (await fetch(store, first.id)).state == ("cancelled" if policy == "replace" else "queued")
    holder = answer.job_id if policy == "replace" else first.id
    assert await store.reads.key_holder("task", "k") == holder
    await assert_all_clean(store)


async def test_replace_says_who_replaced_whom(store: Store, clock: Clock) -> None:
    first = await bring(store, clock, store.tables["durable"], "running", key="k")
    second = await again(store, "durable", duplicates="replace", actor="ann")
    last = (await store.reads.events(first.id))[-1]
    assert (last.type, last.actor, last.reason, last.cause) == (
        "job_cancelled",
        "ann",
        "replaced",
        second.job_id,
    )
    assert (await fetch(store, first.id)).lease_owner is None


async def test_replace_of_a_job_that_is_over_leaves_it_alone(store: Store, clock: Clock) -> None:
    first = await bring(store, clock, store.tables["crawl"], "succeeded", key="k")
    before = await store.reads.events(first.id)
    assert (await again(store, "crawl", duplicates="replace")).created
    assert await store.reads.events(first.id) == before


async def test_one_key_twice_in_one_batch_is_as_if_one_after_the_other(store: Store) -> None:
    first, between, second = spec(key="k"), spec(), spec(key="k")
    answers = await store.jobs.submit([first, between, second])
    assert answers == [Submitted(first.id, True), Submitted(between.id, True), Submitted(first.id, False)]
    replacing = [spec(key="r"), spec(key="r", duplicates="replace"), spec(key="r", duplicates="replace")]
    assert [answer.created for answer in await store.jobs.submit(replacing)] == [True, True, True]
    assert [(await fetch(store, one.id)).state for one in replacing] == ["cancelled", "cancelled", "queued"]
    before = await everything(store)
    with pytest.raises(DuplicateKeyError):
        await store.jobs.submit([spec("workflow", key="w"), spec("workflow", key="w")])
    assert await everything(store) == before
    await assert_all_clean(store)


async def test_scopes_keep_keys_apart(store: Store) -> None:
    specs = [
        spec(key="k"),
        spec(key="k", task="another"),
        spec(key="k", key_scope="tenant"),
        spec("crawl", key="k", key_scope="tenant"),
        spec(key="k", task="task"),
    ]
    answers = await store.jobs.submit(specs)
    assert [answer.created for answer in answers] == [True, True, True, False, False]
    assert answers[3].job_id == specs[2].id
    assert answers[4].job_id == specs[0].id
    assert await store.reads.key_holder("another", "k") == specs[1].id
    assert await store.reads.key_holder("nobody", "k") is None


async def test_an_empty_scope_and_an_empty_key_are_a_scope_and_a_key(store: Store) -> None:
    specs = [spec(key="", task=""), spec(), spec(key="", duplicates="allow"), spec(key="", task="")]
    answers = await store.jobs.submit(specs)
    assert [answer.created for answer in answers] == [True, True, True, False]
    assert answers[3].job_id == specs[0].id
    await assert_all_clean(store)


async def test_a_window_of_its_own_for_a_crawl(store: Store, clock: Clock) -> None:
    first = await submit(store, "crawl", key="k", key_window_ms=HOUR_MS)
    clock.advance(HOUR_MS - 1)
    assert await again(store, "crawl", key_window_ms=HOUR_MS) == Submitted(first.id, False)
    clock.advance(1)
    assert await again(store, "crawl") == Submitted(first.id, False)
    assert (await again(store, "crawl", key_window_ms=HOUR_MS)).created


async def test_a_window_keeps_the_key_of_a_durable_job_that_is_over(store: Store, clock: Clock) -> None:
    first = await bring(store, clock, store.tables["durable"], "succeeded", key="k")
    clock.now_ms = first.created_at_ms + HOUR_MS - 1
    assert await again(store, "durable", key_window_ms=HOUR_MS) == Submitted(first.id, False)
    clock.advance(1)
    assert (await again(store, "durable", key_window_ms=HOUR_MS)).created


async def test_a_window_never_frees_the_key_of_a_durable_job_that_lives(store: Store, clock: Clock) -> None:
    first = await submit(store, key="k")
    clock.advance(2 * HOUR_MS)
    assert await again(store, "durable", key_window_ms=HOUR_MS) == Submitted(first.id, False)


@pytest.mark.rule("S06")
async def test_nothing_brings_a_sandbox_job_back(store: Store, clock: Clock) -> None:
    table = store.tables["sandbox"]
    for state in ("failed", "cancelled"):
        job = await bring(store, clock, table, state)
        assert table.commands(state) == (Command.CLEAN,)
        job = await take(store, clock, job, table.row(state, Command.CLEAN))
        job = await take(store, clock, job, table.row("cleaning", Command.CLEANED))
        assert table.commands("cleaned") == ()
        assert job.attempt == 1
    assert await store.jobs.claim(["default"], 10, "w") == []


@pytest.mark.rule("W12")
async def test_a_resumed_job_takes_its_key_again_unless_another_has_it(store: Store, clock: Clock) -> None:
    table = store.tables["workflow"]
    job = await bring(store, clock, table, "cancelled", key="k")
    other = await again(store, "workflow")
    refused = await store.jobs.apply(move(table, [job], Command.RESUME, actor="me"))
    assert [(refusal.job_id, refusal.why) for refusal in refused.refused] == [(job.id, "key")]
    assert (await fetch(store, job.id)).state == "cancelled"

    await store.jobs.apply(move(table, [await fetch(store, other.job_id)], Command.CANCEL, actor="me"))
    resumed = await store.jobs.apply(move(table, [job], Command.RESUME, actor="me"))
    assert list(resumed.versions) == [job.id]
    assert await store.reads.key_holder("task", "k") == job.id
    await assert_all_clean(store)


@pytest.mark.rule("S07", "S08")
async def test_a_client_job_id_is_one_key_however_it_is_spelled(store: Store) -> None:
    mine = "550e8400-e29b-41d4-a716-446655440000"
    [first] = await store.jobs.submit([spec("sandbox", key=client_job_id(mine.upper()), key_scope="client_job_id")])
    [second] = await store.jobs.submit([spec("sandbox", key=client_job_id(mine), key_scope="client_job_id")])
    assert second == Submitted(first.job_id, False)
