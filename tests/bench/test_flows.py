"""The measurement of flows measures: every shape is run to its end, beside plain jobs, and compared with them."""

import asyncio
from pathlib import Path

import pytest
from rich.console import Console

from bench.flow_shapes import Shape, chain, layered, narrow, wide
from bench.flows import PLAIN, Figure, measure, ratio, shapes, table
from bench.site import SqliteGround

TINY = [Shape("wide", 6, wide), Shape("chain", 3, chain)]


@pytest.mark.slow
def test_each_shape_beside_plain_jobs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ground = SqliteGround(tmp_path, "NORMAL")
    [found] = asyncio.run(measure(ground, TINY, rounds=1))
    assert {name: figure.jobs for name, figure in found.items()} == {PLAIN: 6, "wide": 6, "chain": 3}
    assert all(figure.submit_s > 0 and figure.run_s > 0 for figure in found.values())
    Console(width=200).print(table(ground, [found]))
    assert "chain" in capsys.readouterr().out


def test_ratios_compare_within_a_round() -> None:
    rounds = [
        {PLAIN: Figure(11, 1.0, 1.0, 1.0), "wide": Figure(11, 2.0, 4.0, 1.0)},
        {PLAIN: Figure(11, 4.0, 8.0, 1.0), "wide": Figure(11, 8.0, 32.0, 1.0)},
    ]
    assert ratio(rounds, "wide") == pytest.approx(0.25)
    assert ratio(rounds, "wide", submit=True) == pytest.approx(0.5)


def test_shapes_are_what_they_say() -> None:
    assert {shape.name: shape.nodes for shape in shapes(quick=False)} == {
        "wide": 10_000,
        "layered": 10_000,
        "narrow": 10_000,
        "chain": 1_000,
    }
    for shape in shapes(quick=True):
        assert len(shape.graph().nodes) == shape.nodes
    assert max(wide(50).depths.values()) == 2
    assert max(layered(100).depths.values()) == 19
    assert max(narrow(500).depths.values()) == 4
    assert max(chain(30).depths.values()) == 29
