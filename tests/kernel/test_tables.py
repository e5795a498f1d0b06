"""The five built-in tables against the documents that they come from, row by row."""

from __future__ import annotations

import pickle

import pytest

from holdfast.catalog import BUILT_IN
from holdfast.kernel.durable import DURABLE
from holdfast.kernel.errors import NotAllowedError
from holdfast.kernel.graph.workflow_lifecycle import WORKFLOW
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.state import Canonical, State
from holdfast.systems.crawl.lifecycle import CRAWL
from holdfast.systems.pipeline.lifecycle import PIPELINE
from holdfast.systems.sandbox.lifecycle import SANDBOX

# Of each table: its states as it spells them, the moves within an attempt, and those that open the next. Where a job
# that waits for its time can be made due, that is on record, and its next attempt in the state where it is: no move.
DOCUMENTS: dict[str, tuple[str, str, str]] = {
    "crawl": (
        "queued running retry_pending succeeded failed canceled",
        """
        queued        > running canceled
        running       > succeeded failed canceled
        retry_pending > running canceled
        """,
        """
        running       > retry_pending
        queued        > queued
        retry_pending > retry_pending
        """,
    ),
    "durable": (
        "queued assigned running succeeded failed cancelled dead_lettered",
        """
        queued   > assigned cancelled dead_lettered
        assigned > running cancelled dead_lettered
        running  > succeeded failed cancelled dead_lettered
        """,
        """
        assigned > queued
        running  > queued
        queued   > queued
        """,
    ),
    "pipeline": (
        "PENDING RUNNING COMPLETED PARTIAL FAILED CANCELLED",
        """
        PENDING > RUNNING CANCELLED FAILED
        RUNNING > COMPLETED PARTIAL FAILED CANCELLED
        """,
        "RUNNING > RUNNING",
    ),
    "workflow": (
        "CREATED CREATED RETRY ACTIVE COMPLETED SKIPPED EXPIRED CANCELLED FAILED",
        """
        CREATED > CREATED ACTIVE EXPIRED CANCELLED SKIPPED
        ACTIVE  > COMPLETED SKIPPED FAILED CANCELLED
        RETRY   > ACTIVE EXPIRED CANCELLED
        """,
        """
        ACTIVE    > RETRY
        CANCELLED > CREATED
        CREATED   > CREATED
        RETRY     > RETRY
        """,
    ),
    "sandbox": (
        "pending pending starting running completed failed timed_out cancelled cleaning cleaned",
        """
        pending   > pending starting cancelled
        starting  > running failed cancelled
        running   > completed failed timed_out cancelled
        completed > cleaning
        failed    > cleaning
        timed_out > cleaning
        cancelled > cleaning
        cleaning  > cleaned
        """,
        """
        starting > starting
        running  > running
        """,
    ),
}


def pairs(text: str) -> set[tuple[str, str]]:
    lines = [line.split(">") for line in text.splitlines() if line.strip()]
    return {(source.strip(), target) for source, targets in lines for target in targets.split()}


def moves(table: Lifecycle, *, opening: bool) -> set[tuple[str, str]]:
    rows = [row for row in table.transitions if row.opens_attempt is opening]
    return {(str(table.state(row.source)), str(table.state(row.target))) for row in rows}


@pytest.mark.rule("C01", "C02", "D01", "D02", "P01", "P02", "W01", "W02", "S02")
@pytest.mark.parametrize("name", BUILT_IN)
def test_a_table_has_the_moves_of_its_document_and_no_others(name: str) -> None:
    states, within, opening = DOCUMENTS[name]
    table = BUILT_IN[name]
    assert [str(state) for state in table.states] == states.split()
    assert moves(table, opening=False) == pairs(within)
    assert moves(table, opening=True) == pairs(opening)


TERMINAL = {
    "crawl": "succeeded failed canceled",
    "durable": "succeeded failed cancelled dead_lettered",
    "pipeline": "COMPLETED PARTIAL FAILED CANCELLED",
    "workflow": "COMPLETED SKIPPED EXPIRED CANCELLED FAILED",
    "sandbox": "completed failed timed_out cancelled cleaned",
}
SUCCESSFUL = {
    "crawl": "succeeded",
    "durable": "succeeded",
    "pipeline": "COMPLETED PARTIAL",
    "workflow": "COMPLETED SKIPPED",
    "sandbox": "completed",
}
NOT_EXECUTED = {
    "crawl": "canceled",
    "durable": "cancelled",
    "pipeline": "CANCELLED",
    "workflow": "SKIPPED CANCELLED",
    "sandbox": "cancelled",
}


@pytest.mark.rule("P01", "W01", "W14")
@pytest.mark.parametrize("name", BUILT_IN)
def test_states_know_whether_they_are_over_and_how(name: str) -> None:
    table = BUILT_IN[name]
    over = TERMINAL[name].split()
    assert [str(state) for state in table.terminal_states()] == over
    for state in table.states:
        assert state.is_terminal() is (state in over)
        assert state.is_successful_terminal() is (state in SUCCESSFUL[name].split())
        assert state.was_executed() is (state in over and state not in NOT_EXECUTED[name].split())


@pytest.mark.rule("W02")
def test_only_a_cancelled_workflow_is_resumed_and_as_a_new_attempt() -> None:
    resumes = [row for table in BUILT_IN.values() for row in table.transitions if row.source.rank == 4]
    resumes = [row for row in resumes if row.target is not Canonical.CLEANING]
    assert {row.source for row in resumes} == {Canonical.CANCELLED}
    assert all(row.opens_attempt and row in WORKFLOW.transitions for row in resumes)
    assert WORKFLOW.policies.resumable
    assert not any(BUILT_IN[name].policies.resumable for name in BUILT_IN if name != "workflow")


@pytest.mark.rule("S06", "S10")
def test_a_sandbox_job_is_neither_retried_nor_resumed() -> None:
    assert SANDBOX.policies.retry.max_tries == 1
    assert not {"retry", "resume", "lose"} & {row.command for row in SANDBOX.transitions}
    for state in ("succeeded", "failed", "timed_out", "cancelled"):
        assert SANDBOX.commands(state) == ("clean",)
    assert SANDBOX.commands("cleaned") == ()


def test_what_can_be_cancelled() -> None:
    cancellable = {
        name: {str(table.state(row.source)) for row in table.transitions if row.command == "cancel"}
        for name, table in BUILT_IN.items()
    }
    assert cancellable == {
        "crawl": {"queued", "running", "retry_pending"},
        "durable": {"queued", "assigned", "running"},
        "pipeline": {"PENDING", "RUNNING"},
        "workflow": {"CREATED", "RETRY", "ACTIVE"},
        "sandbox": {"pending", "starting", "running"},
    }


@pytest.mark.rule("D18")
def test_the_events_of_the_document_are_the_events_of_the_table() -> None:
    types = {row.event for row in DURABLE.transitions}
    assert types >= {
        "job_claimed",
        "job_started",
        "job_succeeded",
        "job_failed",
        "job_cancelled",
        "job_dead_lettered",
        "job_compensated",
    }


@pytest.mark.rule("C06", "D11", "W10")
def test_retry_policies_are_those_of_the_documents() -> None:
    said = {name: table.policies.retry for name, table in BUILT_IN.items()}
    assert (said["crawl"].max_tries, said["crawl"].base_ms, said["crawl"].factor) == (7, 2_000, 2)
    assert (said["durable"].base_ms, said["durable"].factor, said["durable"].cap_ms) == (500, 2, 60_000)
    assert said["crawl"].jitter > 0
    assert said["durable"].jitter > 0
    assert said["workflow"].factor == 2
    assert said["pipeline"].max_tries == said["sandbox"].max_tries == 1


def test_what_a_worker_may_take() -> None:
    assert {name: sorted(table.claimable) for name, table in BUILT_IN.items()} == {
        "crawl": ["queued", "retry_pending"],
        "durable": ["queued"],
        "pipeline": ["queued"],
        "workflow": ["queued", "retry_pending"],
        "sandbox": ["queued"],
    }
    assert [row.command for row in DURABLE.claim_path("queued", start=True)] == ["claim", "start"]
    assert [row.command for row in DURABLE.claim_path("queued", start=False)] == ["claim"]
    assert [row.command for row in CRAWL.claim_path("retry_pending", start=True)] == ["claim"]
    with pytest.raises(NotAllowedError):
        PIPELINE.claim_path("running", start=True)


@pytest.mark.parametrize(
    ("table", "name", "found"),
    [
        (WORKFLOW, "CREATED", ["waiting", "queued"]),
        (WORKFLOW, "queued", ["queued"]),
        (WORKFLOW, "ACTIVE", ["running"]),
        (CRAWL, "canceled", ["cancelled"]),
        (CRAWL, "cancelled", ["cancelled"]),
        (CRAWL, "nonsense", []),
        (SANDBOX, "pending", ["waiting", "queued"]),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_state_is_found_by_its_label_and_by_its_canonical_name(table: Lifecycle, name: str, found: list[str]) -> None:
    assert list(table.parse(name)) == found


def test_a_state_is_its_label_and_survives_pickling() -> None:
    state = WORKFLOW.state("running")
    assert state == "ACTIVE"
    assert state.label == "ACTIVE"
    again = pickle.loads(pickle.dumps(state))  # noqa: S301 - our own bytes
    assert (again, again.canonical, repr(again)) == (
        "ACTIVE",
        Canonical.RUNNING,
        "State('ACTIVE', 'running')",
    )
    assert isinstance(again, State)


def test_a_refusal_names_what_would_be_allowed() -> None:
    with pytest.raises(NotAllowedError) as refused:
        CRAWL.row("queued", "succeed")
    assert str(refused.value) == "crawl: no succeed from queued; from queued it may: claim, hasten, cancel"
    with pytest.raises(NotAllowedError, match="nothing leads out of canceled"):
        CRAWL.row("cancelled", "resume")
