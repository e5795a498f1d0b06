"""What makes no sense in a flow is refused before anything is submitted, with a remedy."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from holdfast import Engine, HoldfastError
from holdfast.kernel.graph.check import GraphError
from holdfast.kernel.graph.conditions import Test
from holdfast.kernel.graph.dag import OnFailure
from holdfast.systems.flow.declare.flow import Flow


@pytest.fixture
def app(sqlite_url: str) -> Iterator[Engine]:
    engine = Engine(sqlite_url)
    yield engine
    engine.close()


@pytest.fixture
def flow(app: Engine) -> Flow:
    return app.flow("invoice", on_failure="finish")


def test_a_cycle_is_shown_when_the_graph_is_asked_for(flow: Flow) -> None:
    @flow.task(after="c")
    def a(c: int) -> int:
        return c

    @flow.task(after=a)
    def b(a: int) -> int:
        return a

    @flow.task(after=b)
    def c(b: int) -> int:
        return b

    with pytest.raises(GraphError, match="closes a cycle: a → b → c → a"):
        flow.graph()
    with pytest.raises(GraphError, match="closes a cycle"):
        flow.submit()


def refused(app: Engine, says: str, *, after: Any = "a", **options: Any) -> None:
    """Declaring a second node like this is refused, at once or when the graph is asked for."""
    flow = app.flow(f"bad{sum(1 for _ in app._inside.registry)}")  # a name of its own: its tasks stay declared

    @flow.task
    def a() -> int:
        return 1

    @flow.task
    def b() -> int:
        return 1

    def declared() -> None:
        flow.task(after=after, name=options.pop("name", "c"), **options)(function)
        flow.graph()

    function = options.pop("function", lambda: None)
    with pytest.raises(HoldfastError, match=says):
        declared()


def test_what_makes_no_sense_is_refused_with_a_remedy(app: Engine) -> None:
    refused(app, "'gone', which is no node", after="gone")
    refused(app, "has a node 'a'; give this one name=", name="a")
    refused(app, "named 'c d'; 1 to 100 letters", name="c d")
    refused(app, "unknown option 'colour'; known: queue", colour="red")
    refused(app, 'join is "?\'?some.*one of "all"', join="some")
    refused(app, "waits for 2 of 1 parents", join=2)
    refused(app, "is no duration", sla_soft="soon")
    refused(app, "c.priority is 99999; write a whole number", priority=99_999)
    refused(app, "c.retry_limit is -1; write a whole number", retries=-1)
    refused(app, "c.when.op is '~'; one of", when=Test((), "~"))
    refused(app, "retry_backoff is 2; write true or false", retry_backoff=2)
    refused(app, "pass an aware datetime", start_after=datetime(2030, 1, 1))  # noqa: DTZ001 - without a zone, on purpose
    refused(app, "sla_soft_seconds is 9, beyond the hard 3", sla_soft=9, sla_hard=3)
    refused(app, "x is no parameter of its function; it takes none", args={"x": 1})
    refused(app, "x is no parameter", inputs={"x": "a"})
    refused(app, "begins with 'b', which is no parent", inputs={"x": "b"}, function=lambda x: x)
    refused(app, "b is named like a node that it does not come after; add b", function=lambda a, b: a)
    refused(app, "x would take the first of 2 parents.*behind a \\*", after=["a", "b"], function=lambda x: x)
    refused(app, "rest takes all parents, and others take some", function=lambda a, **rest: a)
    refused(app, "is no node; pass what @flow.task gave", after=[3])
    refused(app, "c.when.op is missing", when={"path": "a"})
    refused(app, "begins with 'total'", when={"path": "total", "op": "exists"})
    refused(app, "x would take the first of 2 parents", after=["a", "b"], when=lambda x: x)
    other = app.flow("other").task(name="o")(lambda: None)
    refused(app, "name nodes of bad", after=other)
    refused(app, "c.when is a node", when=other)
    refused(app, "args.x is", args={"x": object()}, function=lambda x: x)


def test_branches_that_make_no_sense_are_refused(app: Engine) -> None:
    flow = app.flow("bad")

    @flow.task
    def a() -> int:
        return 1

    @flow.task
    def b() -> int:
        return 1

    with pytest.raises(HoldfastError, match=r"cases\[0\] is .*\(what decides"):
        flow.branch(a, [b])  # type: ignore[list-item] # wrong on purpose
    with pytest.raises(HoldfastError, match="mode is 'best'; one of first, all, priority"):
        flow.branch(a, [(bool, b)], mode="best")
    with pytest.raises(HoldfastError, match="has the priority 'high'"):
        flow.branch(a, [(bool, b, "high")], mode="priority")  # type: ignore[list-item] # wrong on purpose
    flow.branch(a, [(lambda: True, b)])
    with pytest.raises(HoldfastError, match="a has a branch; give all its cases in one"):
        flow.branch(a, [(bool, b)])
    with pytest.raises(HoldfastError, match="it is called with the node's result"):
        flow.graph()
    strange = app.flow("strange")
    strange.task(name="a")(lambda: 1)
    strange.branch("a", [({"op": "exists"}, "gone")])
    with pytest.raises(GraphError, match="branch names 'gone', which is no node"):
        strange.graph()


def test_a_flow_has_a_good_name_and_says_what_a_failure_does(app: Engine) -> None:
    assert app.flow("x").on_failure is OnFailure.FAIL_FAST
    with pytest.raises(HoldfastError, match="two flows are named 'x'"):
        app.flow("x")
    with pytest.raises(HoldfastError, match="flow is named 'a b'"):
        app.flow("a b")
    with pytest.raises(HoldfastError, match="one of fail_fast, finish"):
        app.flow("y", on_failure="panic")
    with pytest.raises(GraphError, match="a flow has 1 to"):
        app.flow("empty").graph()
    with pytest.raises(HoldfastError, match="unknown option 'colour'"):
        app.flow("z").options(colour="red")  # type: ignore[call-arg] # wrong on purpose
