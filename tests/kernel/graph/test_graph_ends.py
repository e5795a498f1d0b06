"""However the ends of its nodes arrive, a flow ends as the plain reference says."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.kernel.graph.conditions import Test
from holdfast.kernel.graph.dag import Branch, Case, Graph, Join, JoinKind, Mode, Node, OnFailure
from holdfast.kernel.graph.readiness import Edge, Tally, Verdict, decide, edge_of, not_taken, overall, taken
from holdfast.kernel.state import Canonical
from tests.kernel.graph import reference
from tests.kernel.graph.incremental import Run, _evaluate
from tests.kernel.graph.reference import Script
from tests.kernel.graph.strategies import scripted

JOINS = [Join(JoinKind.ALL), Join(JoinKind.ANY), Join(JoinKind.ALL_DONE), Join(JoinKind.N, 1), Join(JoinKind.N, 2)]


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(scripted(), st.integers(0, 2**32))
def test_a_flow_ends_as_the_reference_says_in_whatever_order(made: tuple[Graph, dict[str, Script]], seed: int) -> None:
    graph, scripts = made
    expected = reference.ends(graph, scripts)
    run = Run(graph, scripts, Random(seed).randrange)
    found = run.play()
    assert found.keys() == expected.keys() == graph.by_name.keys()
    if run.first_bad is None:
        assert found == expected
        assert overall(found.values()) == reference.overall(expected)
        return
    # What ended before the first failure is as it would have been; all the rest is cancelled.
    assert graph.on_failure is OnFailure.FAIL_FAST
    assert found[run.first_bad] == expected[run.first_bad]
    assert all(end in (expected[name], "cancelled") for name, end in found.items())
    assert overall(found.values()) == reference.overall(expected) == "failed"


@given(st.sampled_from(JOINS), st.lists(st.sampled_from(Edge), min_size=2, max_size=5))
def test_what_is_decided_does_not_depend_on_the_order_of_arrival(join: Join, edges: list[Edge]) -> None:
    finals = set()
    for order in permutations(edges):
        tally, decided = Tally(len(edges)), Verdict.WAIT
        for edge in order:
            tally = tally.plus(edge)
            verdict = decide(join, tally)
            assert decided in (Verdict.WAIT, verdict)
            decided = verdict
        finals.add(decided)
    assert len(finals) == 1
    assert Verdict.WAIT not in finals


W, R, S, B = Verdict.WAIT, Verdict.RELEASE, Verdict.SKIP, Verdict.BLOCK


@pytest.mark.parametrize(
    ("tally", "all_", "any_", "two", "all_done"),
    [
        (Tally(3), W, W, W, W),
        (Tally(3, taken=1), W, R, W, W),
        (Tally(3, taken=2), W, R, R, W),
        (Tally(3, taken=3), R, R, R, R),
        (Tally(3, taken=1, dead=2), R, R, S, R),
        (Tally(3, taken=2, dead=1), R, R, R, R),
        (Tally(3, dead=3), S, S, S, R),
        (Tally(3, dead=2), W, W, W, W),
        (Tally(3, dead=2, broken=1), B, B, B, B),
        (Tally(3, dead=1, broken=1), W, W, B, W),
        (Tally(3, taken=2, broken=1), B, R, R, B),
        (Tally(3, taken=1, broken=1, dead=1), B, R, B, B),
        (Tally(3, broken=3), B, B, B, B),
        (Tally(0), R, R, R, R),
    ],
)
def test_each_join_decides(tally: Tally, all_: Verdict, any_: Verdict, two: Verdict, all_done: Verdict) -> None:
    assert decide(Join(JoinKind.ALL), tally) is all_
    assert decide(Join(JoinKind.ANY), tally) is any_
    assert decide(Join(JoinKind.N, 2), tally) is two
    assert decide(Join(JoinKind.ALL_DONE), tally) is all_done


def test_an_end_makes_an_edge_taken_dead_or_broken() -> None:
    assert edge_of("succeeded") is edge_of("partial") is Edge.TAKEN
    assert edge_of("skipped") is edge_of("succeeded", chosen=False) is Edge.DEAD
    assert edge_of("failed") is edge_of("cancelled") is edge_of("expired") is Edge.BROKEN
    assert edge_of("failed", chosen=False) is Edge.BROKEN


BIG = Case(Test((), ">", 100), ("big",), priority=1)
ODD = Case(Test((), "in", [1, 101]), ("odd", "log"), priority=2)
TINY = Case(Test((), "<", 2), ("tiny",), priority=1)


@pytest.mark.parametrize(
    ("mode", "result", "expected"),
    [
        (Mode.FIRST, 101, {"big"}),
        (Mode.ALL, 101, {"big", "odd", "log"}),
        (Mode.PRIORITY, 101, {"odd", "log"}),
        (Mode.FIRST, 1, {"odd", "log"}),
        (Mode.ALL, 1, {"odd", "log", "tiny"}),
        (Mode.PRIORITY, 0, {"tiny"}),
        (Mode.FIRST, 50, {"other"}),
        (Mode.ALL, "no number", {"other"}),
        (Mode.PRIORITY, None, {"other"}),
    ],
)
def test_a_branch_takes(mode: Mode, result: object, expected: set[str]) -> None:
    branch = Branch((BIG, ODD, TINY), ("other",), mode)
    assert taken(branch, result, _evaluate) == expected
    assert not_taken(branch, result, _evaluate) == {"big", "odd", "log", "tiny", "other"} - expected


def test_of_equal_priorities_the_first_wins() -> None:
    everything = Test((), "exists")
    branch = Branch((Case(everything, ("a",), 1), Case(everything, ("b",), 1)), mode=Mode.PRIORITY)
    assert taken(branch, 1, _evaluate) == {"a"}


def test_a_branch_not_taken_skips_what_hangs_on_it_alone() -> None:
    branch = Branch((Case(Test((), "==", "left"), ("left",)),), ("right",))
    nodes = (
        Node("ask", "t", branch=branch),
        Node("left", "t", after=("ask",)),
        Node("right", "t", after=("ask",)),
        Node("deep", "t", after=("left",)),
        Node("deeper", "t", after=("deep",)),
        Node("join", "t", after=("deeper", "right")),
        Node("audit", "t", after=("ask",)),
    )
    graph = Graph("fork", nodes, OnFailure.FINISH)
    scripts = {node.name: Script(result="neither") for node in nodes}
    found = Run(graph, scripts, lambda size: 0).play()
    assert [name for name, end in found.items() if end == "skipped"] == ["left", "deep", "deeper"]
    assert found["join"] == found["right"] == found["audit"] == "succeeded"
    assert overall(found.values()) is Canonical.SUCCEEDED


def test_how_a_flow_ends() -> None:
    assert overall(["succeeded", "skipped", "partial"]) is Canonical.SUCCEEDED
    assert overall(["skipped"]) is Canonical.SUCCEEDED
    assert overall(["succeeded", "cancelled"]) is Canonical.CANCELLED
    assert overall(["succeeded", "cancelled", "failed"]) is Canonical.FAILED
    assert overall(["expired", "cancelled"]) is Canonical.FAILED
    assert overall(["succeeded", "running"]) is None
