"""What is asked for from outside: decided under a lock, done once, told the same again."""

import asyncio
from typing import Any

import pytest

from holdfast.kernel import decisions
from holdfast.kernel.errors import DuplicateKeyError, NotAllowedError, NotFoundError
from holdfast.kernel.job import Spec
from holdfast.store.port import Ask, MismatchError, Store, VersionError
from holdfast.store.script import rows_of
from tests.store.scenes import fetch, spec
from tests.tables import driver_of

CANCEL = decisions.cancel("no longer wanted")


async def submitted(store: Store, **more: Any) -> Spec:
    made = spec(**more)
    await store.jobs.submit([made])
    return made


async def test_of_two_that_bring_a_job_back_at_once_one_does(store: Store, other: Store) -> None:
    for _ in range(10):
        job = await submitted(store, lifecycle="workflow", key=None)
        await store.jobs.change([job.id], CANCEL, Ask())
        tries = (each.jobs.change([job.id], decisions.resume("after all"), Ask()) for each in (store, other))
        answers = await asyncio.gather(*tries, return_exceptions=True)
        refused = [answer for answer in answers if isinstance(answer, NotAllowedError)]
        assert len(refused) == 1, answers
        assert (await fetch(store, job.id)).attempt == 2


async def test_a_job_whose_key_another_has_stays_where_it_is(store: Store) -> None:
    first = await submitted(store, lifecycle="workflow", key="k", duplicates="replace")
    await store.jobs.change([first.id], CANCEL, Ask())
    second = await submitted(store, lifecycle="workflow", key="k", duplicates="replace")
    before = await fetch(store, first.id)
    with pytest.raises(DuplicateKeyError, match=second.id):
        await store.jobs.change([first.id], decisions.resume("after all"), Ask())
    assert await fetch(store, first.id) == before


async def test_replacing_and_bringing_back_do_not_wait_for_each_other(store: Store, other: Store) -> None:
    for number in range(10):
        held = await submitted(store, lifecycle="workflow", key=f"k{number}", duplicates="replace")
        await store.jobs.change([held.id], CANCEL, Ask())
        back = store.jobs.change([held.id], decisions.resume("after all"), Ask())
        rival = other.jobs.submit([spec(lifecycle="workflow", key=f"k{number}", duplicates="replace")])
        answers = await asyncio.gather(back, rival, return_exceptions=True)
        assert not isinstance(answers[1], Exception), answers
        assert not isinstance(answers[0], Exception) or isinstance(answers[0], DuplicateKeyError), answers


async def test_a_repeat_is_told_the_same_and_does_nothing(store: Store, other: Store) -> None:
    job = await submitted(store)
    ask = Ask("someone", "op", "digest")
    first = await store.jobs.change([job.id], CANCEL, ask)
    again = await other.jobs.change([job.id], CANCEL, ask)
    assert (first.again, again.again) == (False, True)
    assert (again.jobs, again.moved) == (first.jobs, [job.id])
    assert len(await store.reads.events(job.id)) == 2
    with pytest.raises(MismatchError):
        await store.jobs.change([job.id], CANCEL, ask._replace(digest="another"))


async def test_a_refusal_under_an_op_id_is_remembered_too(store: Store) -> None:
    job = await submitted(store)
    ask = Ask("someone", "op", "digest")
    first = await store.jobs.change([job.id], decisions.resume("why"), ask)
    await store.jobs.change([job.id], CANCEL, Ask())
    again = await store.jobs.change([job.id], decisions.resume("why"), ask)
    assert again.refused == first.refused != {}
    assert "no resume from queued" in str(again.refused[job.id].error)


async def test_of_several_those_that_refuse_are_left(store: Store) -> None:
    one, two = [await submitted(store) for _ in range(2)]
    await store.jobs.change([one.id], CANCEL, Ask())
    missing = spec().id
    answer = await store.jobs.change([one.id, two.id, missing], CANCEL, Ask())
    assert (answer.moved, set(answer.refused)) == ([two.id], {one.id, missing})
    with pytest.raises(NotFoundError):
        await store.jobs.change([missing], CANCEL, Ask())


async def test_a_version_that_has_passed_changes_nothing(store: Store) -> None:
    job = await submitted(store)
    with pytest.raises(VersionError, match="at version 1"):
        await store.jobs.change([job.id], CANCEL, Ask(versions=frozenset({7})))
    assert (await fetch(store, job.id)).version == 1


async def test_an_answer_of_another_version_is_not_guessed_at(store: Store) -> None:
    job = await submitted(store)
    ask = Ask("someone", "op", "digest")
    await store.jobs.change([job.id], CANCEL, ask)
    text = '{"digest": "digest", "status": 200, "body": "{}", "headers": {}}'
    await driver_of(store).write(rows_of("op_keep", {"op_id": "op", "answer": text}))
    with pytest.raises(MismatchError, match="another version"):
        await store.jobs.change([job.id], CANCEL, ask)
    with pytest.raises(MismatchError, match="another version"):
        await store.admin.answers.find(ask)
