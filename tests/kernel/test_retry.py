"""Delays and tries of the retry policies."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.kernel.retry import (
    CRAWL,
    DURABLE,
    LONGEST_DELAY_MS,
    NEVER,
    WORKFLOW,
    RetryPolicy,
    delay_ms,
    left,
    workflow,
)

policies = st.builds(
    RetryPolicy,
    max_tries=st.integers(1, 10**9),
    base_ms=st.integers(0, 10**400),
    factor=st.floats(1.0, 1e6) | st.integers(1, 10**6),
    cap_ms=st.none() | st.integers(0, 10**400),
    jitter=st.floats(0.0, 1.0),
)
chances = st.floats(0.0, 1.0, exclude_max=True)
tries_used = st.integers(1, 100) | st.integers(1, 10**400)


def delays(policy: RetryPolicy, chance: float = 0.0) -> list[int]:
    """All delays a job of this policy meets before it has no try left."""
    met = []
    tries = 1
    while left(policy, tries):
        met.append(delay_ms(policy, tries, chance))
        tries += 1
    return met


@pytest.mark.rule("C06")
def test_crawl_tries_seven_times_from_two_seconds_doubling() -> None:
    assert delays(CRAWL) == [2_000, 4_000, 8_000, 16_000, 32_000, 64_000]
    assert delays(CRAWL, chance=0.5) == [1_500, 3_000, 6_000, 12_000, 24_000, 48_000]


@pytest.mark.rule("D11")
def test_durable_starts_at_half_a_second_and_is_capped_at_a_minute() -> None:
    assert delays(DURABLE) == [500, 1_000]
    patient = RetryPolicy(10, DURABLE.base_ms, DURABLE.factor, DURABLE.cap_ms, DURABLE.jitter)
    assert delays(patient) == [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]


@pytest.mark.rule("D11")
def test_every_figure_is_configurable() -> None:
    assert delays(RetryPolicy(max_tries=4, base_ms=10, factor=3, cap_ms=50, jitter=0.2)) == [10, 30, 50]


@pytest.mark.rule("W10")
@pytest.mark.parametrize(("backoff", "expected"), [(True, [5_000, 10_000, 20_000]), (False, [5_000, 5_000, 5_000])])
def test_workflow_retry_limit_three_delay_five(backoff: bool, expected: list[int]) -> None:
    policy = workflow(retry_limit=3, retry_delay_ms=5_000, backoff=backoff)
    assert delays(policy) == expected
    assert not left(policy, 4)


@pytest.mark.rule("W10")
def test_workflow_default_retries_twice_after_two_seconds() -> None:
    assert delays(WORKFLOW, chance=0.9) == [2_000, 4_000]


def test_never_allows_one_try() -> None:
    assert delays(NEVER) == []
    assert left(NEVER, 0)


@pytest.mark.rule("D11")
@given(policies, tries_used, chances)
def test_jitter_only_shortens_and_only_by_its_share(policy: RetryPolicy, tries: int, chance: float) -> None:
    full_ms = delay_ms(policy, tries, 0.0)
    delayed_ms = delay_ms(policy, tries, chance)
    assert full_ms * (1.0 - policy.jitter) - 1 <= delayed_ms <= full_ms
    assert 0 <= delayed_ms <= min(LONGEST_DELAY_MS, LONGEST_DELAY_MS if policy.cap_ms is None else policy.cap_ms)


@given(policies, tries_used)
def test_without_jitter_a_delay_never_shrinks(policy: RetryPolicy, tries: int) -> None:
    assert delay_ms(policy, tries, 0.0) <= delay_ms(policy, tries + 1, 0.0)


def test_huge_tries_reach_the_cap_and_not_an_overflow() -> None:
    assert delay_ms(DURABLE, 10**6, 0.0) == 60_000
    assert delay_ms(CRAWL, 10**400, 0.0) == LONGEST_DELAY_MS
    assert delay_ms(RetryPolicy(max_tries=2, base_ms=7, factor=1), 10**400, 0.0) == 7
    assert delay_ms(RetryPolicy(max_tries=2, base_ms=0), 10**400, 0.0) == 0


@given(policies)
def test_a_policy_survives_json(policy: RetryPolicy) -> None:
    assert RetryPolicy.from_dict(json.loads(json.dumps(policy.to_dict()))) == policy


def test_absent_fields_take_their_defaults() -> None:
    assert RetryPolicy.from_dict({"max_tries": 2, "base_ms": 5}) == RetryPolicy(max_tries=2, base_ms=5)


@pytest.mark.parametrize(
    ("data", "named"),
    [
        ({"max_tries": 2}, "base_ms"),
        ({"base_ms": 2}, "max_tries"),
        ({"max_tries": 2, "base_ms": 1, "cap": 3}, "cap"),
    ],
)
def test_a_wrong_dict_names_the_field(data: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        RetryPolicy.from_dict(data)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_tries", 0),
        ("max_tries", True),
        ("max_tries", 2.0),
        ("base_ms", -1),
        ("base_ms", "5"),
        ("factor", 0.5),
        ("factor", float("nan")),
        ("factor", float("inf")),
        ("factor", "2"),
        ("cap_ms", -1),
        ("cap_ms", 1.5),
        ("jitter", -0.1),
        ("jitter", 1.1),
        ("jitter", None),
        ("jitter", False),
    ],
)
def test_a_wrong_value_names_the_field(field: str, value: object) -> None:
    data: dict[str, Any] = {"max_tries": 3, "base_ms": 5, field: value}
    with pytest.raises(ValueError, match=field):
        RetryPolicy(**data)


@pytest.mark.parametrize(("field", "arguments"), [("retry_limit", (-1, 5, True)), ("retry_delay_ms", (1, -5, True))])
def test_a_wrong_workflow_policy_names_the_field(field: str, arguments: tuple[int, int, bool]) -> None:
    with pytest.raises(ValueError, match=field):
        workflow(*arguments)


@pytest.mark.parametrize(("tries", "chance", "field"), [(0, 0.0, "tries"), (1, 1.0, "chance"), (1, -0.1, "chance")])
def test_delay_refuses_impossible_arguments(tries: int, chance: float, field: str) -> None:
    with pytest.raises(ValueError, match=field):
        delay_ms(CRAWL, tries, chance)
