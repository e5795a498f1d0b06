"""A bad table is refused when it is built, with the rule's name and the path that shows it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from holdfast.kernel.errors import LifecycleError
from holdfast.kernel.lifecycle import Lifecycle, Transition, Tries
from holdfast.kernel.policy import Exhausted, KeyHold, Lost, Policies
from holdfast.kernel.retry import RetryPolicy
from holdfast.kernel.state import Canonical as S
from holdfast.kernel.state import State

CLAIM = Transition(S.QUEUED, "claim", S.RUNNING, "job_started", tries=Tries.COUNT)
SUCCEED = Transition(S.RUNNING, "succeed", S.SUCCEEDED, "job_succeeded")
LOSE = Transition(S.RUNNING, "lose", S.QUEUED, "job_lease_expired", opens_attempt=True, counts_loss=True)
CANCEL = Transition(S.QUEUED, "cancel", S.CANCELLED, "job_cancelled")
RESUME = Transition(S.CANCELLED, "resume", S.QUEUED, "job_resumed", opens_attempt=True, tries=Tries.RESET)
SOUND: dict[str, Any] = {
    "name": "mine",
    "states": tuple(State(state.value, state) for state in (S.QUEUED, S.RUNNING, S.SUCCEEDED, S.CANCELLED)),
    "transitions": (CLAIM, SUCCEED, LOSE, CANCEL),
}


def refused(**changes: Any) -> LifecycleError:
    with pytest.raises(LifecycleError) as error:
        Lifecycle(**(SOUND | changes))
    assert error.value.lifecycle == "mine"
    assert error.value.rule in str(error.value)
    assert all(step in str(error.value) for step in error.value.path)
    return error.value


def rows(*more: Transition, without: tuple[Transition, ...] = ()) -> dict[str, Any]:
    kept = tuple(row for row in SOUND["transitions"] if row not in without)
    return {"transitions": (*kept, *more)}


def states(*more: S) -> dict[str, Any]:
    return {"states": (*SOUND["states"], *(State(state.value, state) for state in more))}


def test_the_table_that_the_others_are_made_from_is_sound() -> None:
    assert Lifecycle(**SOUND).commands("queued") == ("claim", "cancel")


START = Transition(S.ASSIGNED, "start", S.RUNNING, "job_started")
PARK = Transition(S.QUEUED, "park", S.RETRY_PENDING, "job_parked", opens_attempt=True)
REVIVE = Transition(S.SUCCEEDED, "revive", S.QUEUED, "job_revived", opens_attempt=True)
REGRET = Transition(S.CANCELLED, "succeed", S.SUCCEEDED, "job_succeeded")
RERUN = Transition(S.SUCCEEDED, "rerun", S.RUNNING, "job_started", opens_attempt=True)
SKIP_CLAIM = Transition(S.QUEUED, "run", S.RUNNING, "job_run")
CLEAN = Transition(S.FAILED, "clean", S.CLEANED, "job_cleaned")
BACK = Transition(S.RUNNING, "pause", S.QUEUED, "job_paused")

BROKEN: dict[str, tuple[dict[str, Any], str, tuple[str, ...]]] = {
    "unreachable state": (states(S.FAILED), "unreachable", ("queued", "running", "never failed")),
    "unreachable part": (
        states(S.FAILED, S.CLEANED) | rows(CLEAN),
        "unreachable",
        ("queued", "never failed"),
    ),
    "trap state": (
        states(S.RETRY_PENDING) | rows(PARK),
        "cannot-end",
        ("submit", str(PARK), "retry_pending for ever"),
    ),
    "ambiguous command": (
        rows(Transition(S.QUEUED, "cancel", S.SUCCEEDED, "job_gone")),
        "ambiguous-command",
        (str(CANCEL), "queued --cancel--> succeeded (job_gone)"),
    ),
    "ambiguous event": (
        rows(Transition(S.RUNNING, "hand_back", S.QUEUED, "job_lease_expired", opens_attempt=True)),
        "ambiguous-event",
        (str(LOSE), "running --hand_back--> queued (job_lease_expired, next attempt)"),
    ),
    "backward row": (rows(BACK), "backward-in-attempt", (str(BACK),)),
    "standing still": (
        rows(Transition(S.RUNNING, "again", S.RUNNING, "job_again")),
        "backward-in-attempt",
        ("running --again--> running (job_again)",),
    ),
    "terminal left without resume": (rows(REVIVE), "terminal-left", (str(REVIVE),)),
    "terminal left past clean-up": (
        states(S.CLEANING, S.CLEANED)
        | rows(
            Transition(S.SUCCEEDED, "clean", S.CLEANING, "job_cleaning"),
            Transition(S.CLEANING, "cleaned", S.CLEANED, "job_cleaned"),
            Transition(S.CLEANED, "resume", S.QUEUED, "job_resumed", opens_attempt=True),
        ),
        "terminal-left",
        ("cleaned --resume--> queued (job_resumed, next attempt)",),
    ),
    "success after cancel": (rows(REGRET), "backward-in-attempt", (str(REGRET),)),
    "lease without claim": (rows(SKIP_CLAIM), "lease-without-claim", (str(SKIP_CLAIM),)),
    "a terminal job runs again without a claim": (
        rows(RERUN, RESUME) | {"policies": Policies(resumable=True)},
        "lease-without-claim",
        (str(RERUN),),
    ),
    "claim without lease": (
        rows(Transition(S.QUEUED, "claim", S.SUCCEEDED, "job_started"), without=(CLAIM,)),
        "claim-without-lease",
        ("queued --claim--> succeeded (job_started)",),
    ),
    "claim of what is leased": (
        states(S.ASSIGNED)
        | rows(
            Transition(S.QUEUED, "claim", S.ASSIGNED, "job_claimed"),
            Transition(S.ASSIGNED, "claim", S.RUNNING, "job_started"),
            without=(CLAIM,),
        ),
        "claim-without-lease",
        ("assigned --claim--> running (job_started)",),
    ),
    "claim opens an attempt": (
        rows(replace(CLAIM, opens_attempt=True), without=(CLAIM,)),
        "claim-opens-attempt",
        (str(replace(CLAIM, opens_attempt=True)),),
    ),
    "take-over of what nobody had": (
        rows(Transition(S.QUEUED, "take_over", S.RUNNING, "job_taken_over", opens_attempt=True)),
        "take-over-without-lease",
        ("queued --take_over--> running (job_taken_over, next attempt)",),
    ),
    "lost lease stuck": (
        rows(without=(LOSE,)),
        "lost-lease-stuck",
        ("submit", str(CLAIM), "lease expires", "stuck"),
    ),
    "lost lease stuck in one of two": (
        states(S.ASSIGNED) | rows(Transition(S.QUEUED, "claim", S.ASSIGNED, "job_claimed"), START, without=(CLAIM,)),
        "lost-lease-stuck",
        ("submit", "queued --claim--> assigned (job_claimed)", "lease expires", "stuck"),
    ),
    "nobody takes over": (
        {"policies": Policies(lost=Lost.TAKE_OVER)},
        "lost-lease-stuck",
        ("submit", str(CLAIM), "lease expires", "stuck"),
    ),
    "unknown source": (
        rows(Transition(S.WAITING, "release", S.QUEUED, "job_released")),
        "unknown-state",
        ("waiting --release--> queued (job_released)",),
    ),
    "unknown target": (
        rows(Transition(S.RUNNING, "fail", S.FAILED, "job_failed")),
        "unknown-state",
        ("running --fail--> failed (job_failed)",),
    ),
    "unknown beginning": ({"initial": (S.WAITING,)}, "unknown-state", ("submit", "waiting")),
    "no beginning": ({"initial": ()}, "no-initial-state", ("submit",)),
    "state twice": (
        {"states": (*SOUND["states"], State("READY", S.QUEUED))},
        "state-declared-twice",
        ("queued", "READY"),
    ),
}


@pytest.mark.rule("D04")
@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_table_is_refused_with_its_counterexample(case: str) -> None:
    changes, rule, path = BROKEN[case]
    error = refused(**changes)
    assert error.rule == rule
    assert set(path) <= set(error.path)
    assert error.path[-1] == path[-1]


CONTRADICTIONS: dict[str, tuple[dict[str, Any], str, str]] = {
    "retries": ({"retry": RetryPolicy(max_tries=3, base_ms=1)}, "retry allows 3 tries", "no row retries"),
    "dead letters": (
        {"on_exhausted": Exhausted.DEAD_LETTER},
        "on_exhausted is dead_letter",
        "no row dead-letters",
    ),
    "lost dead letters": (
        {"on_lost_exhausted": Exhausted.DEAD_LETTER},
        "on_lost_exhausted is dead_letter",
        "no row dead-letters",
    ),
    "resumable": ({"resumable": True}, "resumable", "no row resumes"),
    "stale": ({"stale_after_ms": 1}, "jobs expire", "no row expires them"),
    "expiry": ({"expire_after_ms": 1}, "jobs expire", "no row expires them"),
    "window": ({"key_hold": KeyHold.WINDOW}, "keys are held for a window", "key_window_ms is not set"),
    "cleaned": ({"key_hold": KeyHold.UNTIL_CLEANED}, "keys are held until cleaned", "no row cleans"),
    "heartbeats": (
        {"lease_ms": 30_000, "heartbeat_ms": 20_000},
        "a lease lasts 30000 ms",
        "two heartbeats take 40000 ms",
    ),
    "crashes": ({"crash_budget": 0}, "crash_budget is below 1", "a first run must be allowed"),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_policies_that_the_table_cannot_keep_are_refused(case: str) -> None:
    policies, says, but = CONTRADICTIONS[case]
    error = refused(policies=Policies(**policies))
    assert (error.rule, error.path) == ("policy-contradiction", (says, but))


def test_a_resume_that_the_policies_forbid_is_refused() -> None:
    assert refused(**rows(RESUME)).rule == "terminal-left"
    assert Lifecycle(**(SOUND | rows(RESUME) | {"policies": Policies(resumable=True)})).find("cancelled", "resume")


def test_a_table_that_is_read_back_is_checked_again() -> None:
    data = Lifecycle(**SOUND).to_dict()
    data["transitions"] = [row for row in data["transitions"] if row["command"] != "lose"]
    with pytest.raises(LifecycleError) as error:
        Lifecycle.from_dict(data)
    assert error.value.rule == "lost-lease-stuck"
