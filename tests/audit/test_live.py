"""An audit of a database at work raises no false alarm, and knows one's own lifecycles from the data."""

import asyncio
from dataclasses import replace

import pytest
from uuid_utils import uuid7

from holdfast.audit.certificates import prove
from holdfast.audit.verdict import verify
from holdfast.chores.pruner import Pruner
from holdfast.chores.sealer import Sealer
from holdfast.kernel.durable import DURABLE
from holdfast.kernel.job import Spec
from holdfast.kernel.lifecycle import Lifecycle, Transition
from holdfast.kernel.move import Change, Move
from holdfast.kernel.outcome import Done
from holdfast.kernel.policy import DAY_MS
from holdfast.kernel.settle import settle
from holdfast.kernel.state import Canonical, State
from holdfast.store.port import Store
from tests.audit.made import Made


async def work(store: Store, rounds: int) -> None:
    for _ in range(rounds):
        specs = [Spec(str(uuid7()), "durable", "live", queue="live", keep_until_ms=1) for _ in range(20)]
        await store.jobs.submit(specs)
        for job in await store.jobs.claim(["live"], 20, "worker-1"):
            path, move = settle(DURABLE, job, Done('{"n":1}'))
            await store.jobs.apply([Change(DURABLE, path, "worker-1", [move], "worker-1")])
            await asyncio.sleep(0)


@pytest.mark.slow
@pytest.mark.rule("C16")
async def test_an_audit_of_a_database_at_work_raises_no_false_alarm(made: Made) -> None:
    sealer, pruner = Sealer(made.store), Pruner(made.store)
    busy = asyncio.create_task(work(made.store, 10))
    audits = 0
    while not busy.done() or audits < 3:
        await sealer.seal_all()
        report, _ = await asyncio.gather(made.audit(), pruner.run_once(made.now_ms + DAY_MS))
        assert report.violations == []
        audits += 1
    await busy
    assert (await made.audit()).violations == []


REVIEWED = Lifecycle(
    name="reviewed",
    states=(*DURABLE.states, State("waiting for review", Canonical.WAITING)),
    transitions=(
        *DURABLE.transitions,
        Transition(Canonical.WAITING, "approve", Canonical.QUEUED, "job_approved"),
    ),
    policies=replace(DURABLE.policies, retention_ms=DAY_MS),
    initial=(Canonical.WAITING,),
)


@pytest.mark.rule("D29")
async def test_a_lifecycle_of_ones_own_is_audited_from_the_data_alone(made: Made) -> None:
    await made.store.register(REVIEWED)
    job_id = str(uuid7())
    await made.store.jobs.submit([Spec(job_id, "reviewed", "task", state="waiting")])
    [row] = [row for row in REVIEWED.transitions if row.command == "approve"]
    job = await made.store.reads.get(job_id)
    assert job is not None
    await made.store.jobs.apply([Change(REVIEWED, (row,), "person", [Move(job.id, job.attempt)])])
    await Sealer(made.store).seal_all()
    # The audit opens the database by its address: it knows the table only from there.
    assert (await made.audit()).violations == []
    certificate = await prove(made.store, job_id)
    verdict = verify(certificate)
    assert (verdict.ok, verdict.lifecycle, verdict.state) == (True, "reviewed", "queued")
    assert [event["schema_version"] for event in certificate["events"]] == [1, 1]
    changed, _ = await made.row_of(job_id, 2)
    path = changed.path.replace("job_approved", "job_waved_through")
    made.sql("UPDATE holdfast_log SET path = ? WHERE pos = ?", path, changed.pos)
    report = await made.audit()
    assert {(v.invariant, v.seq) for v in report.violations if v.job_id == job_id} == {("I1", 2), ("I19", 2)}


@pytest.mark.rule("D19", "D27")
async def test_every_event_says_who_when_why_and_in_which_context(made: Made) -> None:
    for name, job_id in made.ids.items():
        job = await made.store.reads.get(job_id)
        assert job is not None
        for event in await made.store.reads.events(job_id):
            assert (event.job_id, event.schema_version, event.correlation_id) == (
                job_id,
                1,
                job.correlation_id,
            )
            assert event.pos > 0
            assert event.type.startswith("job_")
            assert event.at_ms >= job.created_at_ms
            assert event.actor != "", name
    rich = await made.store.reads.events(made.ids["rich"])
    assert (rich[0].reason, rich[0].cause) == ("nightly", "schedule-1")
    assert rich[3].reason == "network_error"
    assert '"no route to host"' in (rich[3].payload or "")
    last = (await made.store.reads.events(made.ids["cancelled"]))[-1]
    assert (last.actor, last.reason, last.cause) == ("person", "no longer wanted", "ticket-1")
