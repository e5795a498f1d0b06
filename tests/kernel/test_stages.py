"""What stages make of their job, and when a breaker lets one rest."""

import itertools

import pytest

from holdfast.systems.pipeline.stages import (
    BreakerRule,
    Closed,
    HalfOpen,
    Overall,
    StageRan,
    StageResult,
    StageStatus,
    Untouched,
    judge,
    overall,
)

C, P, F, S = StageStatus.COMPLETED, StageStatus.PARTIAL, StageStatus.FAILED, StageStatus.SKIPPED
NOT_WANTED = "not wanted"
CASES: list[tuple[list[str], Overall]] = [
    ([], Overall.COMPLETED),
    ([C, C, C], Overall.COMPLETED),
    ([C, NOT_WANTED, C], Overall.COMPLETED),
    ([NOT_WANTED, NOT_WANTED], Overall.COMPLETED),
    ([C, F], Overall.PARTIAL),
    ([C, F, C], Overall.PARTIAL),
    ([C, P], Overall.PARTIAL),
    ([P], Overall.PARTIAL),
    ([C, S], Overall.PARTIAL),
    ([S, S], Overall.PARTIAL),
    ([P, F, F], Overall.PARTIAL),
    ([F], Overall.FAILED),
    ([F, F], Overall.FAILED),
    ([F, C, C], Overall.FAILED),
    ([NOT_WANTED, F, C], Overall.FAILED),
    ([S, F], Overall.FAILED),
]


def results(statuses: list[str]) -> list[StageResult]:
    return [
        StageResult(f"s{n}", S, counts=False) if status == NOT_WANTED else StageResult(f"s{n}", StageStatus(status))
        for n, status in enumerate(statuses)
    ]


@pytest.mark.parametrize(("statuses", "expected"), CASES)
def test_what_stages_make_of_a_job(statuses: list[str], expected: Overall) -> None:
    assert overall(results(statuses)) is expected


def test_stages_that_are_not_wanted_never_change_the_verdict() -> None:
    for length in range(4):
        for statuses in itertools.product([C, P, F, S], repeat=length):
            mixed = [x for status in statuses for x in (NOT_WANTED, status)] + [NOT_WANTED]
            assert overall(results(mixed)) is overall(results(list(statuses)))


def test_all_completed_is_the_only_way_to_completed() -> None:
    for statuses in itertools.product([C, P, F, S], repeat=3):
        assert (overall(results(list(statuses))) is Overall.COMPLETED) == (set(statuses) == {C})


def test_a_result_survives_being_kept() -> None:
    result = StageResult("s", P, 7, {"items": 3}, ({"item": "x", "message": "bad"},), "why", False)
    assert StageResult.from_dict("s", result.to_dict()) == result


RULE = BreakerRule(failures=3, cooldown_ms=1_000)


def ran(*ends: tuple[int, bool]) -> list[StageRan]:
    return [StageRan(at_ms, failed) for at_ms, failed in ends]


def test_a_breaker_stays_closed_while_failures_are_interrupted() -> None:
    assert judge(RULE, [], 0) == Closed()
    assert judge(RULE, ran((1, True), (2, True)), 3) == Closed()
    assert judge(RULE, ran((1, True), (2, True), (3, False)), 4) == Closed()
    assert judge(RULE, ran((1, True), (2, False), (3, True), (4, True)), 5) == Closed()


def test_a_breaker_opens_rests_and_lets_one_try() -> None:
    failed = ran((1, True), (2, True), (10, True))
    assert judge(RULE, failed, 10) == Untouched(1_010)
    assert judge(RULE, failed, 1_009) == Untouched(1_010)
    assert judge(RULE, failed, 1_010) == HalfOpen("10:1", 2_010)
    assert judge(RULE, failed, 2_009) == HalfOpen("10:1", 2_010), "the same trial, for whoever asks"
    assert judge(RULE, failed, 2_010) == HalfOpen("10:2", 3_010), "the first never ended: another may"


def test_a_trial_decides() -> None:
    failed = ran((1, True), (2, True), (10, True))
    assert judge(RULE, [*failed, StageRan(1_020, False)], 1_021) == Closed()
    assert judge(RULE, [*failed, StageRan(1_020, True)], 1_021) == Untouched(2_020)


def test_the_order_in_which_history_is_read_does_not_matter() -> None:
    history = ran((1, True), (2, False), (3, True), (4, True), (5, True))
    assert {judge(RULE, order, 6) for order in itertools.permutations(history)} == {Untouched(1_005)}
