"""Random DAGs whose workers are killed with SIGKILL while they run end as the plain reference says."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from holdfast import Engine, HoldfastError
from holdfast.audit.auditor import audit
from holdfast.kernel.graph.dag import OnFailure
from holdfast.kernel.job import Job
from holdfast.runtime.task import Options
from holdfast.systems.flow.commands import submit as flow_submit
from holdfast.systems.flow.handle import FlowHandle
from tests.kernel.graph import reference
from tests.kernel.graph.reference import Script
from tests.kernel.graph.strategies import graph_of, scripts_of
from tests.systems.flow.test_random import check, ends_of
from tests.systems.flow.toss import ENDS, app_on, told
from tests.working import ROOT, until

FLOWS = 4
KILLS = 2
"""A job that takes three workers along is not tried again."""


@contextlib.contextmanager
def worker(url: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.systems.flow.toss", url],
            cwd=ROOT,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


class Drawn:
    """One flow: what it is to do, and how it must end."""

    def __init__(self, app: Engine, random: Random) -> None:
        size = random.choice((20, 80, 200))
        drawn = graph_of(random, size, random.choice(tuple(OnFailure)), maps=True)
        scripts: dict[str, Script] = scripts_of(random, drawn, random.choice((0.0, 0.0, 0.05)), ENDS)
        self.graph = told(drawn, scripts, random)
        self.expected = reference.ends(drawn, scripts)
        self.handle: FlowHandle = app._inside.portal.call(flow_submit.submit(app._inside, self.graph, "{}", Options()))
        self.cut_short = False

    @property
    def is_over(self) -> bool:
        return self.handle.state().is_terminal()

    def check(self, app: Engine) -> None:
        rows = self.handle.nodes()

        async def look() -> None:
            await check(await app._inside.opened(), self.handle.id, rows)

        app._inside.portal.call(look())
        fails_fast = "failed" in self.expected.values() and self.graph.on_failure is not OnFailure.FINISH
        if not fails_fast and not self.cut_short:
            assert ends_of(rows) == self.expected
        assert self.handle.job().state == reference.overall(self.expected)

    def stop_and_bring_back(self) -> None:
        """Cancelled in the middle, and brought back once all of it has stopped; one in which a node failed is not."""
        try:
            self.handle.cancel("for a moment")
        except HoldfastError:
            assert self.is_over
            return
        until(lambda: self.is_over)
        try:
            self.handle.resume()
        except HoldfastError:
            ended = self.handle.job().state
            assert ended in ("succeeded", "failed")
            self.cut_short = ended == "failed"

    def _job(self, job_id: str) -> Job:
        job: Job = self.handle._call(self.handle.engine.get_job(job_id))
        return job

    def lost(self) -> int:
        return sum(job.losses for job in map(self._job, [row.job_id for row in self.handle.nodes()]))


@pytest.mark.slow
@settings(
    max_examples=2,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
@given(seed=st.integers(0, 2**32))
def test_flows_outlive_their_workers(database: str, tmp_path: Path, seed: int) -> None:
    note(f"seed={seed}")
    random = Random(seed)
    app = app_on(database)
    log = tmp_path / "worker.log"
    try:
        flows = [Drawn(app, random) for _ in range(FLOWS)]
        with contextlib.ExitStack() as stack:
            for _ in range(KILLS):
                # The first is alone, so that there is something left for it to be killed with; the second is not.
                victim = stack.enter_context(worker(database, log))
                until(partial(_holds, app, victim, flows))
                random.choice(flows).stop_and_bring_back()
                until(partial(_killed, app, victim, flows))
                stack.enter_context(worker(database, log))
            until(lambda: all(flow.is_over for flow in flows), timeout_s=60)
        for flow in flows:
            flow.check(app)
        assert sum(flow.lost() for flow in flows) > 0, "some were in the hands of a worker that was killed"
        assert app._inside.portal.call(audit(database, processes=False)).violations == []
    finally:
        app.close()
    assert "Traceback" not in log.read_text()


def _holds(app: Engine, victim: subprocess.Popen[bytes], flows: list[Drawn]) -> bool:
    """Whether a worker has jobs in its hands; or nothing is left to do."""

    async def look() -> bool:
        leases = await (await app._inside.opened()).admin.queues.leases()
        return any(f":{victim.pid}:" in (job.lease_owner or "") for job in leases)

    return app._inside.portal.call(look()) or all(flow.is_over for flow in flows)


def _killed(app: Engine, victim: subprocess.Popen[bytes], flows: list[Drawn]) -> bool:
    """Stopped, looked at, and killed only when it had jobs in its hands; or nothing is left to do."""
    victim.send_signal(signal.SIGSTOP)
    if held := _holds(app, victim, flows):
        victim.kill()
    else:
        victim.send_signal(signal.SIGCONT)
    return held
