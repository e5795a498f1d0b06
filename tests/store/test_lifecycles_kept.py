"""A lifecycle is data: it goes into the database and comes back, so that an audit needs no code."""

from __future__ import annotations

import json

import pytest

from holdfast.catalog import BUILT_IN, KNOWN
from holdfast.kernel.durable import DURABLE
from holdfast.kernel.event import SCHEMA_VERSION
from holdfast.kernel.lifecycle import Command, Lifecycle, Transition
from holdfast.kernel.proof.invariants import Inspector
from holdfast.kernel.state import Canonical, State
from holdfast.store.port import Store
from tests.store.scenes import Clock, bring, take

EXTENDED = Lifecycle(
    name="extended",
    states=(*DURABLE.states, State("halted", Canonical.SKIPPED)),
    transitions=(
        *DURABLE.transitions,
        Transition(Canonical.QUEUED, "halt", Canonical.SKIPPED, "job_halted"),
    ),
    policies=DURABLE.policies,
)


@pytest.mark.rule("D29")
async def test_a_lifecycle_of_ones_own_is_kept_and_audited_without_its_code(
    store: Store, other: Store, clock: Clock
) -> None:
    await store.register(EXTENDED)
    await store.register(EXTENDED)
    job = await bring(store, clock, EXTENDED, "queued")
    job = await take(store, clock, job, EXTENDED.row("queued", "halt"))
    done = await bring(store, clock, EXTENDED, "succeeded")

    known = await other.reads.lifecycles()
    assert known == KNOWN | {"extended": EXTENDED}
    inspector = Inspector(known)
    for one in (job, done):
        events = await other.reads.events(one.id)
        assert inspector.job(await other.reads.get(one.id), events) == []
        assert {event.schema_version for event in events} == {SCHEMA_VERSION}
    assert known["extended"].state("skipped") == "halted"


async def test_a_table_may_be_registered_anew(store: Store, other: Store) -> None:
    await store.register(EXTENDED)
    data = EXTENDED.to_dict()
    wider = Lifecycle.from_dict(data | {"policies": data["policies"] | {"lease_ms": 90_000}})
    await store.register(wider)
    assert (await other.reads.lifecycles())["extended"].policies.lease_ms == 90_000


@pytest.mark.rule("D29")
@pytest.mark.parametrize("table", [*BUILT_IN.values(), EXTENDED], ids=lambda table: table.name)
def test_a_table_survives_json(table: Lifecycle) -> None:
    again = Lifecycle.from_dict(json.loads(json.dumps(table.to_dict())))
    assert again == table
    assert again.to_dict() == table.to_dict()
    assert [state.canonical for state in again.states] == [state.canonical for state in table.states]


@pytest.mark.rule("D29")
def test_an_extension_changes_nothing_of_what_was_there() -> None:
    for row in DURABLE.transitions:
        assert EXTENDED.row(row.source, row.command) == row
    assert Command.CANCEL in EXTENDED.commands("queued")
