"""What every implementation of `holdfast.executors.port.Executor` has to do: checks that really run works.

`await run(place)` runs them all, each on a fresh executor; with pytest, parametrize a test by `CHECKS`. Of what the
works of an executor cannot do at all, nothing is asked.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from holdfast.executors.port import Crashed, Executor, Handle, Run, Site, Stop, Words
from holdfast.kernel import outcome as o
from holdfast.kernel.classify import Classifier
from holdfast.kernel.errors import LeaseConflictError
from holdfast.kernel.job import Job
from holdfast.tasks.registry import TaskDef
from holdfast.testing.behaviours import LOOK_S, Behaviour

BOUND_S = 5.0
"""How long a stop, a word or a close may take at most on a slow machine."""
ASKED = "soft: enough"


class Workplace(Protocol):
    """An implementation under test: how one is made, and works that it carries out."""

    def make(self, site: Site) -> Executor: ...

    def task(self, behaviour: Behaviour) -> TaskDef | None:
        """A task that behaves so; None where no work of this executor can."""


class Kept:
    """What one job keeps. A `lost` one keeps nothing more."""

    def __init__(self, checkpoint: str | None = None) -> None:
        self.done: dict[str, str] = {}
        self.undone: list[str] = []
        self.checkpoint = checkpoint
        self.artifacts: dict[str, bytes] = {}
        self.lost = False

    async def load_step(self, name: str) -> str | None:
        return self.done.get(name)

    async def save_step(self, name: str, result: str) -> None:
        self._fence()
        self.done[name] = result

    async def load_checkpoint(self) -> str | None:
        return self.checkpoint

    async def save_checkpoint(self, data: str) -> None:
        self._fence()
        self.checkpoint = data

    async def save_artifact(self, name: str, data: bytes) -> None:
        self._fence()
        self.artifacts[name] = data

    async def steps(self) -> list[str]:
        return list(self.done)

    async def step_undone(self, name: str) -> None:
        self.undone.append(name)

    def _fence(self) -> None:
        if self.lost:
            raise LeaseConflictError("the job is no longer ours")


def run_of(task: TaskDef, kept: Kept, payload: str = '{"n":7}', *, number: int = 1, attempt: int = 1) -> Run:
    empty: dict[str, None] = dict.fromkeys(Job._fields)
    given = {
        "id": f"00000000-0000-7000-8000-{number:012}",
        "lifecycle": task.lifecycle.name,
        "task": task.name,
        "queue": task.queue,
        "state": "running",
        "attempt": attempt,
        "tries": attempt,
        "max_tries": 9,
        "lease_owner": "a-worker",
        "payload": payload,
    }
    return Run(Job(**(empty | given)), task, lambda job: kept, None)  # type: ignore[arg-type] # no database: what is not said is empty


class Going:
    """A run whose outcome is awaited, as a slot of a worker does."""

    def __init__(self, run: Run, handle: Handle) -> None:
        self.handle = handle
        self.words: list[Words] = []
        self.ending: asyncio.Task[o.Outcome | Crashed] = asyncio.ensure_future(handle.outcome())
        run.runner = self.ending

    async def speaks(self) -> None:
        """Wait for its progress."""
        until_s = time.monotonic() + BOUND_S
        while not any(words.progress for words in self.words):
            assert time.monotonic() < until_s, "a run said how far it is, and poll does not tell"
            assert not self.ending.done(), f"a run ended before its time: {self.ending.result()}"
            self.words.append(self.handle.poll())
            await asyncio.sleep(LOOK_S)

    async def ends(self) -> None:
        """Wait until it has ended in whichever way."""
        done, _ = await asyncio.wait({self.ending}, timeout=BOUND_S)
        assert done, f"a run did not end within {BOUND_S:g} s"


class Trial:
    """One fresh executor, and what is asked of it."""

    def __init__(self, place: Workplace, capacity: int = 2) -> None:
        self.place = place
        self.site = Site(capacity, Classifier())
        self.executor = place.make(self.site)

    def can(self, behaviour: Behaviour) -> bool:
        return self.place.task(behaviour) is not None

    def run(self, behaviour: Behaviour, kept: Kept | None = None, payload: str = '{"n":7}', **more: int) -> Run:
        task = self.place.task(behaviour)
        assert task is not None
        return run_of(task, kept or Kept(), payload, **more)

    async def outcome(self, run: Run) -> o.Outcome | Crashed:
        going = await self.begun(run)
        await going.ends()
        return going.ending.result()

    async def begun(self, run: Run) -> Going:
        return Going(run, await self.executor.start(run))


Check = Callable[[Trial], Awaitable[None]]


async def what_is_returned_is_the_result(trial: Trial) -> None:
    assert await trial.outcome(trial.run(Behaviour.RETURN)) == o.Done("7")


async def a_part_is_a_part(trial: Trial) -> None:
    if trial.can(Behaviour.PART):
        assert await trial.outcome(trial.run(Behaviour.PART)) == o.Partial("[1]", "half")


async def nothing_to_do_is_skipped(trial: Trial) -> None:
    if trial.can(Behaviour.SKIP):
        assert await trial.outcome(trial.run(Behaviour.SKIP)) == o.Skip("nothing to do")


async def a_failure_for_good_is_one(trial: Trial) -> None:
    outcome = await trial.outcome(trial.run(Behaviour.FAIL))
    assert isinstance(outcome, o.Fail)
    assert (outcome.failure.code, outcome.failure.message) == ("permanent_error", "no good")
    assert outcome.failure.context["worker_id"] == "a-worker"


async def a_failure_that_may_pass_is_tried_again(trial: Trial) -> None:
    outcome = await trial.outcome(trial.run(Behaviour.FAIL_NOW))
    assert isinstance(outcome, o.Retry)
    assert (outcome.failure.code, outcome.failure.message) == ("transient_error", "not yet")


async def arguments_that_do_not_fit_are_a_failure_for_good(trial: Trial) -> None:
    outcome = await trial.outcome(trial.run(Behaviour.RETURN, payload='{"n":"seven"}'))
    assert isinstance(outcome, o.Fail)
    assert outcome.failure.stage == "input"


async def a_soft_stop_is_told(trial: Trial) -> None:
    going = await trial.begun(trial.run(Behaviour.HEED))
    await going.speaks()
    going.handle.cancel(Stop.SOFT, ASKED)
    going.handle.cancel(Stop.SOFT, ASKED)
    await going.ends()
    assert isinstance(going.ending.result(), o.Cancelled)


async def a_soft_stop_that_came_early_is_told(trial: Trial) -> None:
    run = trial.run(Behaviour.HEED)
    handle = await trial.executor.start(run)
    handle.cancel(Stop.SOFT, ASKED)
    going = Going(run, handle)
    await going.ends()
    assert isinstance(going.ending.result(), o.Cancelled)


async def a_hard_stop_ends_it(trial: Trial) -> None:
    going = await trial.begun(trial.run(Behaviour.DEAF))
    await going.speaks()
    going.handle.cancel(Stop.HARD)
    going.handle.cancel(Stop.HARD)
    await going.ends()
    assert going.ending.cancelled() or not isinstance(going.ending.result(), o.Done)
    assert await trial.outcome(trial.run(Behaviour.RETURN, number=2)) == o.Done("7"), "another run suffers for it"


async def a_stop_behind_its_end_stops_nothing(trial: Trial) -> None:
    run = trial.run(Behaviour.RETURN)
    handle = await trial.executor.start(run)
    run.runner = asyncio.current_task()
    assert await handle.outcome() == o.Done("7")
    other = await trial.begun(trial.run(Behaviour.HEED, number=2))
    await other.speaks()
    handle.cancel(Stop.SOFT, ASKED)
    handle.cancel(Stop.HARD)
    await asyncio.sleep(5 * LOOK_S)
    assert not other.ending.done(), "a stop of one run stopped another"
    other.handle.cancel(Stop.SOFT, ASKED)
    await other.ends()


async def what_it_says_is_heard(trial: Trial) -> None:
    if not trial.can(Behaviour.SPEAK):
        return
    run = trial.run(Behaviour.SPEAK)
    going = await trial.begun(run)
    await going.ends()
    words = going.handle.poll()
    assert [json.loads(line)["event"] for line in words.lines] == ["on my way"]
    assert words.progress is not None
    assert (json.loads(words.progress)["done"], json.loads(words.progress)["total"]) == (1, 2)
    assert going.handle.poll() == Words([], None) or going.handle.poll() == Words(), "it is told twice"
    notes = going.handle.notes()
    assert dict(notes.output) == {"pages": 3}
    assert notes.progress is not None, "progress is kept beside the outcome"


async def what_it_keeps_is_kept(trial: Trial) -> None:
    if trial.can(Behaviour.KEEP):
        kept = Kept()
        assert await trial.outcome(trial.run(Behaviour.KEEP, kept)) == o.Done(None)
        assert (kept.done, kept.checkpoint) == ({"one": "1"}, "[2]")


async def what_an_earlier_attempt_kept_is_there(trial: Trial) -> None:
    if trial.can(Behaviour.KEEP):
        kept = Kept("[1]")
        assert await trial.outcome(trial.run(Behaviour.KEEP, kept, attempt=2)) == o.Done("[1]")


async def a_run_whose_job_is_lost_keeps_nothing(trial: Trial) -> None:
    if trial.can(Behaviour.KEEP):
        kept = Kept()
        kept.lost = True
        outcome = await trial.outcome(trial.run(Behaviour.KEEP, kept))
        assert isinstance(outcome, o.Retry | o.Fail)
        assert (outcome.failure.code, kept.done) == ("lease_conflict", {})


async def the_death_of_its_place_is_no_outcome(trial: Trial) -> None:
    if not trial.can(Behaviour.CRASH):
        return
    going = await trial.begun(trial.run(Behaviour.CRASH))
    await going.ends()
    crashed = going.ending.result()
    assert isinstance(crashed, Crashed)
    assert crashed.failure.message
    assert await trial.outcome(trial.run(Behaviour.RETURN, number=2)) == o.Done("7"), "there is no other place"


async def so_many_go_on_side_by_side(trial: Trial) -> None:
    assert trial.executor.capacity >= 1
    several = [
        await trial.begun(trial.run(Behaviour.HEED, number=number))
        for number in range(min(trial.executor.capacity, trial.site.capacity))
    ]
    for going in several:
        await going.speaks()
    for going in several:
        going.handle.cancel(Stop.SOFT, ASKED)
    for going in several:
        await going.ends()


async def only_what_is_there_is_adopted(trial: Trial) -> None:
    run = trial.run(Behaviour.HEED, attempt=2)
    assert await trial.executor.adopt(run, 1) is None, "nobody began it"
    going = await trial.begun(trial.run(Behaviour.HEED))
    await going.speaks()
    other = trial.place.make(trial.site)
    adopted = await other.adopt(run, 1)
    if trial.executor.reach == "process":
        assert adopted is None, "a run that dies with its process cannot be found by another"
        going.handle.cancel(Stop.SOFT, ASKED)
    else:
        assert adopted is not None, f"a run is to be found within its {trial.executor.reach}"
        again = Going(run, adopted)
        adopted.cancel(Stop.SOFT, ASKED)
        await again.ends()
        assert isinstance(again.ending.result(), o.Cancelled)
    await going.ends()
    await other.close(BOUND_S)


async def it_closes_within_its_grace(trial: Trial) -> None:
    going = await trial.begun(trial.run(Behaviour.DEAF))
    await going.speaks()
    began_s = time.monotonic()
    await trial.executor.close(0.5)
    assert time.monotonic() - began_s < 0.5 + BOUND_S
    going.handle.cancel(Stop.HARD)
    await going.ends()


CHECKS: tuple[Check, ...] = (
    what_is_returned_is_the_result,
    a_part_is_a_part,
    nothing_to_do_is_skipped,
    a_failure_for_good_is_one,
    a_failure_that_may_pass_is_tried_again,
    arguments_that_do_not_fit_are_a_failure_for_good,
    a_soft_stop_is_told,
    a_soft_stop_that_came_early_is_told,
    a_hard_stop_ends_it,
    a_stop_behind_its_end_stops_nothing,
    what_it_says_is_heard,
    what_it_keeps_is_kept,
    what_an_earlier_attempt_kept_is_there,
    a_run_whose_job_is_lost_keeps_nothing,
    the_death_of_its_place_is_no_outcome,
    so_many_go_on_side_by_side,
    only_what_is_there_is_adopted,
    it_closes_within_its_grace,
)


@asynccontextmanager
async def trial_of(place: Workplace) -> AsyncIterator[Trial]:
    trial = Trial(place)
    try:
        yield trial
    finally:
        with suppress(asyncio.CancelledError):
            await trial.executor.close(0.0)


async def run(place: Workplace) -> None:
    """Every check, each on a fresh executor."""
    for check in CHECKS:
        async with trial_of(place) as trial:
            await check(trial)
