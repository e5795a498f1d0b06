"""Room behind a gate: what runs, and what has started lately."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.kernel.limit import SECOND_US, NamedLimit, interval_us, limit_of


def test_room_is_what_does_not_run_yet() -> None:
    gate = NamedLimit("g", running=3)
    assert [gate.room(held, 0, 0) for held in (0, 2, 3, 5)] == [3, 1, 0, 0]
    assert NamedLimit("g").room(100, 0, 0) is None


@pytest.mark.parametrize(
    ("rate", "us"), [("10/s", 100_000), ("30/m", 2_000_000), ("0.5/s", 2_000_000), ("1/h", 3_600_000_000)]
)
def test_a_rate_is_the_time_between_two_starts(rate: str, us: int) -> None:
    assert interval_us(rate) == us


@pytest.mark.parametrize("rate", ["", "10", "10/w", "0/s", "-1/s", "x/s", "nan/s"])
def test_what_is_no_rate_is_refused(rate: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the caller says it to the user
        interval_us(rate)


@given(st.integers(1, 5), st.integers(1_000, SECOND_US), st.lists(st.integers(0, 3 * SECOND_US), max_size=60))
def test_starts_never_outrun_the_rate(burst: int, interval: int, waits: list[int]) -> None:
    """Over any stretch there are no more starts than the burst and one for each interval in it."""
    gate = NamedLimit("g", interval_us=interval, burst=burst)
    now_us, next_us = 10 * SECOND_US, 0
    starts: list[int] = []
    for wait in waits:
        now_us += wait
        room = gate.room(0, now_us, next_us)
        assert room is not None
        if room == 0:
            opens = gate.opens_us(now_us, next_us)
            assert opens > now_us
            assert gate.room(0, opens, next_us) == 1, "it opens exactly then"
            assert gate.room(0, opens - 1, next_us) == 0
            continue
        next_us = gate.spent(room, now_us, next_us)
        starts += [now_us] * room
    for first in range(len(starts)):
        for last in range(first, len(starts)):
            assert last - first + 1 <= burst + (starts[last] - starts[first]) // interval


def test_a_gate_travels_in_the_options_of_its_jobs() -> None:
    gate = NamedLimit("domain:x", 2, 500_000, 3)
    assert limit_of({"limit": gate.to_dict()}) == gate
    assert limit_of({"limit": NamedLimit("a", running=1).to_dict()}) == NamedLimit("a", running=1)
    assert limit_of({}) is None
