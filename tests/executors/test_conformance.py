"""Every executor keeps the contract of the port; and one that does not is found out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pkgutil import resolve_name
from typing import Any, Literal

import pytest

from holdfast import catalog
from holdfast.executors.inline import Inline
from holdfast.executors.port import Executor, Handle, Run, Site, Stop
from holdfast.executors.python import Misfit
from holdfast.tasks.registry import TaskDef
from holdfast.testing import executor_conformance as suite
from holdfast.testing.behaviours import FUNCTIONS, Behaviour, task_of
from holdfast.testing.executor_conformance import Check, Trial, trial_of


class Functions:
    """Functions and coroutines under one of our own executors."""

    def __init__(self, executor: str) -> None:
        self._executor = executor

    def make(self, site: Site) -> Executor:
        made: Executor = resolve_name(catalog.BUILT_IN_EXECUTORS[self._executor])(site)
        return made

    def task(self, behaviour: Behaviour) -> TaskDef | None:
        function, coroutine = FUNCTIONS[behaviour]
        if behaviour is Behaviour.CRASH and self._executor != "process":
            return None  # their place is the worker's own process
        chosen = coroutine if self._executor == "loop" else function
        return None if chosen is None else task_of(chosen, self._executor)


KINDS = [
    pytest.param(name, marks=pytest.mark.slow) if name == "process" else name for name in catalog.BUILT_IN_EXECUTORS
]


@pytest.fixture(params=KINDS)
async def trial(request: pytest.FixtureRequest) -> AsyncIterator[Trial]:
    async with trial_of(Functions(request.param)) as fresh:
        yield fresh


@pytest.mark.parametrize("check", suite.CHECKS, ids=lambda check: check.__name__)
async def test_executors(check: Check, trial: Trial) -> None:
    await check(trial)


def test_every_check_of_the_suite_is_run() -> None:
    written = [
        name
        for name, value in vars(suite).items()
        if getattr(value, "__annotations__", {}) == {"trial": "Trial", "return": "None"}
    ]
    assert [check.__name__ for check in suite.CHECKS] == written


class Hosted(Inline):
    """Its runs are found from outside of the executor that began them, as they are on a host."""

    reach: Literal["host"] = "host"  # type: ignore[assignment] # it says more than the one that it is made of
    runs: dict[tuple[str, int], Handle] = {}  # noqa: RUF012 - a host has one table

    async def start(self, run: Run) -> Handle:
        handle = self.runs[run.job.id, run.job.attempt] = Shared(await super().start(run))
        return handle

    async def adopt(self, run: Run, since: int) -> Handle | None:
        return self.runs.pop((run.job.id, since), None)


class Shared:
    """A run that two may wait for."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._ending: Any = None
        self.poll, self.notes = handle.poll, handle.notes

    def cancel(self, how: Stop, asked: str | None = None) -> None:
        self._handle.cancel(how, asked)
        if how is Stop.HARD and self._ending is not None:
            self._ending.cancel()

    async def outcome(self) -> Any:
        self._ending = self._ending or asyncio.ensure_future(self._handle.outcome())
        return await asyncio.shield(self._ending)


class Unheard(Shared):
    def cancel(self, how: Stop, asked: str | None = None) -> None: ...


class Unhearing(Inline):
    """Tells no run to stop."""

    async def start(self, run: Run) -> Handle:
        return Unheard(await super().start(run))


class Boasting(Inline):
    """Adopts what it never had."""

    async def adopt(self, run: Run, since: int) -> Handle | None:
        return Misfit(run, ValueError("never begun"))


class Loud(Shared):
    async def outcome(self) -> Any:
        found = await super().outcome()
        if failure := getattr(found, "failure", None):
            raise RuntimeError(failure.message)
        return found


class Raising(Inline):
    """Lets out what works raise."""

    async def start(self, run: Run) -> Handle:
        return Loud(await super().start(run))


class Instances(Functions):
    """The same coroutines under an executor of another class."""

    def __init__(self, kind: type[Inline]) -> None:
        super().__init__("loop")
        self._kind = kind

    def make(self, site: Site) -> Executor:
        return self._kind(site)  # type: ignore[return-value] # the reach of Hosted is its own


async def test_runs_that_outlive_their_worker_can_be_adopted() -> None:
    async with trial_of(Instances(Hosted)) as trial:
        await suite.only_what_is_there_is_adopted(trial)


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (Unhearing, suite.a_soft_stop_is_told),
        (Unhearing, suite.a_hard_stop_ends_it),
        (Boasting, suite.only_what_is_there_is_adopted),
        (Raising, suite.a_failure_for_good_is_one),
    ],
)
async def test_one_that_breaks_the_contract_is_found_out(
    broken: type[Inline], check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite, "BOUND_S", 0.3)
    async with trial_of(Instances(broken)) as trial:
        with pytest.raises((AssertionError, RuntimeError)):
            await check(trial)
