"""A job's columns, worked out from its events alone."""

from __future__ import annotations

import json

import pytest

from holdfast.catalog import BUILT_IN
from holdfast.kernel.durable import DURABLE
from holdfast.kernel.graph.workflow_lifecycle import WORKFLOW
from holdfast.kernel.job import text_digest
from holdfast.kernel.proof.replay import Replayed, replay, steps_of
from holdfast.systems.crawl.lifecycle import CRAWL
from holdfast.systems.pipeline.lifecycle import PIPELINE
from holdfast.systems.sandbox.lifecycle import SANDBOX
from tests.kernel.lives import RESULT, START_MS, WORKER, event, lived


def at(seq: int) -> int:
    return START_MS + seq * 1_000


def test_a_crawl_that_was_retried_and_succeeded() -> None:
    _, events = lived(CRAWL, "claim", "retry", "claim", "succeed")
    assert replay(CRAWL, events[:3]) == Replayed(
        state="retry_pending",
        attempt=2,
        version=3,
        tries=1,
        due_at_ms=at(3) + 500,
        created_at_ms=at(1),
        changed_at_ms=at(3),
        started_at_ms=at(2),
    )
    assert replay(CRAWL, events[:4]) == Replayed(
        state="running",
        attempt=2,
        version=4,
        tries=2,
        due_at_ms=at(3) + 500,
        lease_owner=WORKER,
        created_at_ms=at(1),
        changed_at_ms=at(4),
        started_at_ms=at(4),
    )
    assert replay(CRAWL, events) == Replayed(
        state="succeeded",
        attempt=2,
        version=5,
        tries=2,
        due_at_ms=at(3) + 500,
        created_at_ms=at(1),
        changed_at_ms=at(5),
        started_at_ms=at(4),
        finished_at_ms=at(5),
        outcome_digest=text_digest(RESULT),
    )


def test_a_hand_back_refunds_a_loss_is_counted_and_a_resume_starts_anew() -> None:
    _, events = lived(DURABLE, "claim", "start", "hand_back", "claim", "lose")
    told = replay(DURABLE, events)
    assert (told.state, told.attempt, told.tries, told.losses, told.lease_owner) == ("queued", 3, 1, 1, None)
    _, events = lived(WORKFLOW, "claim", "cancel", "resume")
    told = replay(WORKFLOW, events)
    assert (told.state, told.attempt, told.tries, told.finished_at_ms) == ("queued", 2, 0, None)


def test_a_take_over_gives_the_lease_to_its_actor() -> None:
    _, events = lived(PIPELINE, "claim", "take_over")
    events[-1] = events[-1]._replace(actor="another")
    told = replay(PIPELINE, events)
    assert (told.lease_owner, told.attempt, told.tries, told.losses) == ("another", 2, 1, 1)
    assert told.started_at_ms == at(3)


def test_clean_up_keeps_when_the_job_ended() -> None:
    _, events = lived(SANDBOX, "claim", "start", "succeed", "clean", "cleaned")
    told = replay(SANDBOX, events)
    assert (told.state, told.finished_at_ms, told.changed_at_ms) == ("cleaned", at(4), at(6))
    assert told.outcome_digest == text_digest(RESULT)


@pytest.mark.parametrize(
    ("said", "due_ms"), [(None, at(1)), ({"delay_ms": 70}, at(1) + 70), ({"due_at_ms": 5, "delay_ms": 70}, 5)]
)
def test_when_a_new_job_is_due(said: dict[str, int] | None, due_ms: int) -> None:
    payload = None if said is None else json.dumps(said)
    first = event(1, "job_submitted", None, "queued", 1, payload=payload)
    assert replay(DURABLE, [first]).due_at_ms == due_ms


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_row_and_every_beginning_is_a_step(name: str) -> None:
    table = BUILT_IN[name]
    steps = steps_of(table)
    for row in table.transitions:
        step = steps[row.source.value, row.target.value, row.event]
        assert (step.opens, step.tries, step.losses) == (row.opens_attempt, row.tries, row.counts_loss)
        assert (step.rank_from, step.rank_to) == (row.source.rank, row.target.rank)
    for state in table.initial:
        assert steps[None, state.value, table.submit_event].opens == 1


def test_an_event_that_is_no_row_cannot_be_replayed() -> None:
    _, events = lived(DURABLE, "claim")
    with pytest.raises(KeyError):
        replay(CRAWL, events)
