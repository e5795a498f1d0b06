"""What a worker does around a run: it finds the executor, asks what goes on around it, and adopts what was lost."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from holdfast import Engine
from holdfast.executors.port import Crashed, Handle, Run, Site, Stop, Words
from holdfast.kernel.durable import DURABLE
from holdfast.kernel.job import Failure, Job
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.move import Follow
from holdfast.kernel.outcome import Done, Notes, Outcome, Skip
from holdfast.kernel.payload.encoding import encode
from holdfast.store.port import Store
from holdfast.systems.pipeline.lifecycle import PIPELINE
from holdfast.tasks.around import Instead
from holdfast.tasks.registry import Registry, define
from holdfast.tasks.work import Work
from holdfast.testing import MovableClock
from tests.engines import STORES, address, engine_on
from tests.working import events_of, signals_of, until, working

HERE = "tests.worker.test_runs"


class Echo(Work):
    executor = "echo"

    def pack(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        return encode(dict(kwargs), what="args")

    def schema(self) -> dict[str, Any]:
        return {"type": "object"}


class Echoes:
    """Runs what it is asked to say by saying it; `there` are the attempts that it finds again."""

    reach = "host"
    asked: ClassVar[list[tuple[Any, ...]]] = []
    there: ClassVar[set[int]] = set()

    def __init__(self, site: Site) -> None:
        self.capacity = site.capacity

    async def start(self, run: Run) -> Handle:
        self.asked.append(("start", run.job.attempt))
        return Saying(run, "started")

    async def adopt(self, run: Run, since: int) -> Handle | None:
        self.asked.append(("adopt", run.job.attempt, since))
        return Saying(run, "adopted") if since in self.there else None

    async def close(self, grace_s: float) -> None:
        self.asked.append(("close",))


class Saying:
    def __init__(self, run: Run, how: str) -> None:
        self._said: Any = {"how": how} | json.loads(run.job.payload or "{}")

    def poll(self) -> Words:
        return Words(('{"level":"info","event":"echo"}',))

    def notes(self) -> Notes:
        return Notes({"echoes": 1})

    def cancel(self, how: Stop, asked: str | None = None) -> None: ...

    async def outcome(self) -> Outcome | Crashed:
        if self._said.get("crash"):
            return Crashed(Failure("node_died", "transient", "the node is gone", {"node": 7}))
        return Done(json.dumps(self._said))


class Around:
    """Works out arguments before a run, and says nothing afterwards."""

    def __init__(self, registry: Registry, store: Store) -> None:
        self._known = {task.name for task in registry}

    async def before(self, job: Job) -> Job | Instead:
        said = json.loads(job.payload or "{}")
        if said.get("skip"):
            return Instead(Skip("not today"))
        if said.get("fail"):
            raise ValueError("no arguments")
        return job._replace(payload=json.dumps(said | {"known": job.task in self._known}))

    async def after(self, job: Job, outcome: Outcome) -> Follow | None:
        return None


@pytest.fixture(params=STORES)
def app(request: pytest.FixtureRequest, tmp_path: Path, clock: MovableClock) -> Iterator[Engine]:
    with engine_on(address(request, tmp_path), clock) as engine:
        yield engine


@pytest.fixture
def echo(app: Engine) -> Engine:
    app._inside.registry.executors = {**app._inside.registry.executors, "echo": f"{HERE}:Echoes"}
    Echoes.asked.clear()
    Echoes.there.clear()
    return app


def declared(app: Engine, table: Lifecycle = DURABLE, **options: Any) -> None:
    app._inside.registry.add(define("echo", Echo(), table, options))


def test_a_work_is_run_by_the_executor_that_it_names(echo: Engine) -> None:
    declared(echo)
    with working(echo):
        job = echo.submit("echo", {"a": 1})
        assert job.result(20) == {"how": "started", "a": 1}
    assert Echoes.asked == [("start", 1), ("close",)]
    assert json.loads(job.job().outcome or "")["output_metadata"] == {"echoes": 1}
    assert [s.payload for s in signals_of(echo, job.id) if s.type == "job_log"] == ['{"level":"info","event":"echo"}']


def test_the_death_of_a_place_is_a_loss_with_its_own_words(echo: Engine) -> None:
    declared(echo, retries=1)
    with working(echo):
        job = echo.submit("echo", {"crash": True})
        job.wait(20)
    error = json.loads(job.job().outcome or "")["error"]
    assert (error["code"], error["message"]) == ("node_died", "the node is gone")
    assert (error["context"]["attempt"], error["context"]["node"]) == (2, 7)
    assert job.job().losses == 1, "the second is its end"


def test_a_work_whose_executor_is_not_here_fails(app: Engine) -> None:
    declared(app, retries=0)
    with working(app):
        job = app.submit("echo", {})
        job.wait(20)
    assert "no executor 'echo'" in (job.job().outcome or "")


def test_what_goes_on_around_a_run_is_asked_for_jobs_of_its_lifecycle(echo: Engine) -> None:
    declared(echo, retries=0)
    echo._inside.registry.arounds = {"durable": f"{HERE}:Around"}
    with working(echo):
        ran, skipped, failed = (echo.submit("echo", said) for said in ({}, {"skip": True}, {"fail": True}))
        assert ran.result(20) == {"how": "started", "known": True}
        skipped.wait(20)
        assert events_of(echo, skipped.id)[-1].reason == "not today"
        assert "no arguments" in ((failed.wait(20) and failed.job().outcome) or "")
    assert Echoes.asked.count(("start", 1)) == 1, "what is not to be run was run"


@pytest.mark.parametrize("there", [True, False], ids=["there", "gone"])
def test_a_run_that_is_taken_over_is_adopted_where_it_is_still_there(
    echo: Engine, clock: MovableClock, there: bool
) -> None:
    declared(echo, PIPELINE)
    job = echo.submit("echo", {})
    [claimed] = echo._inside.portal.call(_claim(echo))
    assert claimed.attempt == 1
    if there:
        Echoes.there.add(1)
    clock.advance("2m")
    with working(echo):
        assert job.result(20) == {"how": "adopted" if there else "started"}
    until(lambda: ("close",) in Echoes.asked)
    begun = [] if there else [("start", 2)]
    assert Echoes.asked == [("adopt", 2, 1), *begun, ("close",)]
    assert "job_taken_over" in [event.type for event in events_of(echo, job.id)]


async def _claim(app: Engine) -> list[Job]:
    return await (await app._inside.opened()).jobs.claim(["default"], 1, "worker-1")
