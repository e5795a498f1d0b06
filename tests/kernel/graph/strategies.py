"""Random DAGs with branches and joins, and scripts of what their nodes do."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from holdfast.kernel.graph.conditions import Test
from holdfast.kernel.graph.dag import Branch, Case, Graph, Join, JoinKind, Mode, Node, OnFailure
from tests.kernel.graph.reference import Script

RESULTS = (0, 1, 2, 3)
ENDS = ("succeeded", "succeeded", "succeeded", "succeeded", "partial", "skipped", "failed", "expired", "cancelled")


@st.composite
def graphs(draw: st.DrawFn, *, most: int = 200) -> Graph:
    # Chance by a seed: hundreds of small draws a graph would be all that Hypothesis does.
    random = Random(draw(st.integers(0, 2**32)))
    return graph_of(random, draw(st.integers(1, most)), draw(st.sampled_from(OnFailure)))


def graph_of(random: Random, size: int, on_failure: OnFailure, *, maps: bool = False) -> Graph:
    """A sound graph: each node waits for up to five of those before it; the order of declaration is shuffled.

    With `maps`, some nodes run over the list of a parent.
    """
    after: list[tuple[int, ...]] = []
    for number in range(size):
        count = random.choice((0, 1, 1, 1, 2, 2, 3, 5))
        near = range(max(0, number - random.choice((3, 12, 200))), number)
        after.append(tuple(random.sample(near, min(count, len(near)))))
    children = {number: [c for c in range(size) if number in after[c]] for number in range(size)}
    nodes = []
    mapped: dict[int, int] = {}
    for number in range(size):
        parents = after[number]
        kind = random.choice(tuple(JoinKind)) if parents else JoinKind.ALL
        if maps and (lists := [parent for parent in parents if parent not in mapped]) and random.random() < 0.2:
            mapped[number] = random.choice(lists)
        if number in mapped or any(parent in mapped for parent in parents):
            kind = random.choice((JoinKind.ALL, JoinKind.ALL_DONE))
        branch = None
        if children[number] and number not in mapped and random.random() < 0.4:
            branch = _branch(random, [f"n{child}" for child in children[number]])
        nodes.append(
            Node(
                name=f"n{number}",
                task="work",
                after=tuple(f"n{parent}" for parent in parents),
                join=Join(kind, random.randint(1, len(parents)) if kind is JoinKind.N else 0),
                branch=branch,
                map=f"n{mapped[number]}" if number in mapped else None,
            )
        )
    random.shuffle(nodes)
    return Graph("random", tuple(nodes), on_failure)


def _branch(random: Random, children: list[str]) -> Branch:
    def some(least: int) -> tuple[str, ...]:
        return tuple(random.sample(children, random.randint(least, len(children))))

    cases = tuple(
        Case(Test((), random.choice(("==", ">", "<=")), random.choice(RESULTS)), some(1), random.choice((0, 1, 1, 2)))
        for _ in range(random.randint(1, 3))
    )
    return Branch(cases, some(0), random.choice(tuple(Mode)))


@st.composite
def scripted(draw: st.DrawFn, *, most: int = 200) -> tuple[Graph, dict[str, Script]]:
    """A graph and what each of its nodes would do if it were run."""
    graph = draw(graphs(most=most))
    return graph, scripts_of(Random(draw(st.integers(0, 2**32))), graph, draw(TROUBLE))


TROUBLE = st.sampled_from((0.0, 0.03, 0.3))
"""Which part of the nodes does not simply succeed."""


def scripts_of(random: Random, graph: Graph, trouble: float, ends: tuple[str, ...] = ENDS) -> dict[str, Script]:
    """What each node does if it is run. Who is mapped over gives a list."""
    scripts = {}
    lists = {node.map for node in graph.nodes}
    for node in graph.nodes:
        end = random.choice(ends) if random.random() < trouble else "succeeded"
        result = random.choice(RESULTS)
        scripts[node.name] = Script(end, list(range(result)) if node.name in lists else result)
    return scripts
