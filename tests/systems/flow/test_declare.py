"""Flows as they are declared: what each parameter is given, what is taken and what is skipped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from holdfast import Context, Engine, HoldfastError, Skip
from holdfast.kernel.graph.dag import Graph, Join, JoinKind, Predicate
from holdfast.systems.flow.declare.flow import Flow
from holdfast.tasks.signature import ArgumentsError
from tests.systems.flow.in_memory import Player


@pytest.fixture
def app(sqlite_url: str) -> Iterator[Engine]:
    engine = Engine(sqlite_url)
    yield engine
    engine.close()


@pytest.fixture
def flow(app: Engine) -> Flow:
    return app.flow("invoice", on_failure="finish")


def ran(flow: Flow, **given: Any) -> dict[str, Any]:
    player = Player(flow, **given)
    assert set(player.play().values()) == {"succeeded"}
    return player.results


def test_parents_are_given_by_name_and_the_rest_is_the_flows_input(flow: Flow) -> None:
    @flow.task
    def fetch(doc: str) -> list[int]:
        return [len(doc), 3]

    @flow.task(after=fetch)
    def total(ctx: Context, fetch: list[int], rate: float = 1.0) -> float:
        return sum(fetch) * rate

    @flow.task(after=[fetch, total], queue="mail", retries=4, retry_delay="5s", retry_backoff=False, timeout="30s")
    async def send(total: float, fetch: list[int], to: str) -> str:
        return f"{to}: {total} of {fetch}"

    graph = flow.graph()
    assert [node.task for node in graph.nodes] == ["invoice.fetch", "invoice.total", "invoice.send"]
    assert graph.by_name["send"].inputs == {"total": ("total",), "fetch": ("fetch",), "to": ("$input", "to")}
    assert graph.by_name["send"].options.given() == {
        "queue": "mail",
        "retry_limit": 4,
        "retry_delay": 5,
        "retry_backoff": False,
        "run_ttl_seconds": 30,
    }
    task = flow.engine.registry.get("invoice.send")
    assert (task.lifecycle.name, task.queue, task.timeout_ms) == ("workflow", "mail", 30_000)
    assert (task.retry.max_tries, task.retry.base_ms, task.retry.factor) == (5, 5_000, 1.0)
    assert flow.signature.describe() == "invoice(doc: str, to: str, rate: float = 1.0)"
    assert fetch("abc") == [3, 3]  # still a function
    assert Graph.from_dict(graph.to_dict()) == graph


def test_without_such_names_positional_parameters_take_the_parents_in_order(flow: Flow) -> None:
    @flow.task
    def one(n: int) -> int:
        return n

    @flow.task
    def two(n: int) -> int:
        return 2 * n

    @flow.task(after=[two, one])
    def minus(x: int, y: int, *, scale: int = 1) -> int:
        return (x - y) * scale

    @flow.task(after=[one, two, minus])
    def spread(first: int, *others: int) -> list[int]:
        return [first, *others]

    @flow.task(after=[one, minus])
    def named(**results: int) -> dict[str, int]:
        return results

    @flow.task(after=[one, two])
    def apart() -> str:
        return "needs none of them"

    assert ran(flow, n=5, scale=10) == {
        "one": 5,
        "two": 10,
        "minus": 50,
        "spread": [5, 10, 50],
        "named": {"one": 5, "minus": 50},
        "apart": "needs none of them",
    }


def test_inputs_and_args_say_what_names_do_not(flow: Flow) -> None:
    @flow.task
    def order(number: int) -> dict[str, Any]:
        return {"lines": [{"price": number}], "eu": True}

    def price(first: int, region: str, *, number: int) -> str:
        return f"{region}{number} {first}"

    for region in ("eu", "us"):
        flow.task(after=order, name=region, args={"region": region}, inputs={"first": "order.lines.0.price"})(price)
    assert ran(flow, number=9) == {"order": {"lines": [{"price": 9}], "eu": True}, "eu": "eu9 9", "us": "us9 9"}


def test_the_input_is_checked_against_all_that_the_nodes_take(flow: Flow) -> None:
    @flow.task
    def a(doc: str, pages: int = 1) -> None: ...

    @flow.task
    def b(doc: str, pages: int) -> None: ...

    assert flow.signature.pack_named({"doc": "x", "pages": 2}) == '{"doc":"x","pages":2}'
    for wrong, says in (
        ({"doc": "x"}, "missing a required .*'pages'"),
        ({"doc": 3, "pages": 1}, "doc: Expected `str`"),
        ({"doc": "x", "pages": 1, "page": 2}, "unexpected keyword argument 'page'"),
    ):
        with pytest.raises(ArgumentsError, match=says):
            flow.submit(**wrong)

    @flow.task
    def c(doc: int) -> None: ...

    with pytest.raises(HoldfastError, match="doc is str in a and int in c; give it one type"):
        flow.graph()


def test_input_without_names_goes_to_what_the_nodes_take_in_turn(flow: Flow) -> None:
    @flow.task
    def fetch(pages: int = 3, *, doc: str) -> str:
        return doc * pages

    @flow.task(after=fetch)
    def send(fetch: str, to: str) -> str:
        return f"{fetch} to {to}"

    assert flow.signature.describe() == "invoice(doc: str, to: str, pages: int = 3)"
    told = flow.submit("x", "me", pages=2)
    assert json.loads(told.job().payload or "") == {"doc": "x", "to": "me", "pages": 2}
    with pytest.raises(ArgumentsError, match="too many positional arguments"):
        flow.submit("x", "me", 2, 4)
    with pytest.raises(ArgumentsError, match="doc: Expected `str`, got `int`"):
        flow.submit(7, "me")


def test_a_branch_takes_by_condition_or_predicate(flow: Flow) -> None:
    @flow.task
    def score(n: int) -> dict[str, int]:
        return {"points": n}

    @flow.task
    def high(score: dict[str, int]) -> str:
        return "high"

    @flow.task(after=score)
    def low(score: dict[str, int]) -> str:
        return "low"

    @flow.task
    def odd() -> str:
        return "odd"

    @flow.task(after=[high, low, odd], join="any")
    def tell(high: str | None, low: str | None, odd: str | None = "even") -> list[str | None]:
        return [high, low, odd]

    flow.branch(
        after=score,
        cases=[({"path": "points", "op": ">", "value": 10}, high), (lambda found: found["points"] % 2, [odd, low])],
        default=low,
        mode="all",
    )
    graph = flow.graph()
    assert graph.by_name["high"].after == ("score",)
    assert graph.by_name["score"].branch is not None
    assert graph.by_name["score"].branch.cases[1].when == Predicate("score.cases[1]")

    def told(n: int) -> Any:
        player = Player(flow, n=n)
        assert player.play()["tell"] == "succeeded"
        return player.results["tell"], [name for name, end in player.ends.items() if end == "skipped"]

    assert told(2) == ([None, "low", "even"], ["high", "odd"])
    assert told(3) == ([None, "low", "odd"], ["high"])
    assert told(12) == (["high", None, "even"], ["low", "odd"])
    assert told(13) == (["high", "low", "odd"], [])


def test_when_decides_with_the_parents_results_or_the_input(flow: Flow) -> None:
    @flow.task
    def count(doc: str) -> int:
        return len(doc)

    @flow.task(after=count, when=lambda count, limit=3: count > limit)
    def long(count: int) -> str:
        return "long"

    @flow.task(after=count, when={"path": "$input.mode", "op": "==", "value": "full"})
    def full(count: int) -> str:
        return "full"

    @flow.task(when=lambda urgent: urgent)
    def alarm() -> str:
        return "alarm"

    @flow.task(after=long)
    def behind(long: str) -> str:
        return long

    @flow.task(after=[long, full, alarm], join="all_done")
    def close(long: str | None, full: str | None, alarm: str | None) -> list[str | None]:
        return [long, full, alarm]

    def closed(**given: Any) -> Any:
        player = Player(flow, **given)
        player.play()
        assert player.ends["behind"] == player.ends["long"]
        return player.results["close"]

    assert closed(doc="abcd", mode="full", urgent=False) == ["long", "full", None]
    assert closed(doc="abcd", urgent=True, limit=9) == [None, None, "alarm"]
    with pytest.raises(ArgumentsError, match="'urgent'"):
        flow.signature.pack_named({"doc": "x"})


def test_a_mapped_node_runs_once_for_each_item(flow: Flow) -> None:
    @flow.task
    def pages(n: int) -> list[int]:
        return list(range(n))

    @flow.task(map_over=pages)
    def read(page: int, *, lang: str = "en") -> str:
        return f"{page}{lang}"

    @flow.task(after=read)
    def bind(read: list[str]) -> str:
        return "".join(read)

    node = flow.graph().by_name["read"]
    assert (node.map, node.after, node.inputs["page"]) == ("pages", ("pages",), ("$item",))
    assert ran(flow, n=3, lang="de")["bind"] == "0de1de2de"
    assert ran(flow, n=0)["bind"] == ""


def test_a_failure_blocks_what_needs_it_and_nothing_else(flow: Flow) -> None:
    @flow.task
    def broken() -> float:
        return 1 / 0

    @flow.task
    def idle() -> None:
        raise Skip("nothing to do")

    @flow.task(after=[broken, idle])
    def needs(broken: float, idle: None) -> None: ...

    @flow.task(after=idle)
    def behind(idle: None) -> None: ...

    @flow.task
    def other() -> None: ...

    assert Player(flow).play() == {
        "broken": "failed",
        "idle": "skipped",
        "needs": "cancelled",
        "behind": "skipped",
        "other": "succeeded",
    }


def test_options_of_a_node_under_either_name(flow: Flow) -> None:
    start = datetime(2030, 1, 1, tzinfo=UTC)

    @flow.task(
        retry_limit=3,
        expire_in_seconds=90,
        run_ttl_seconds=20,
        start_after=start,
        keep_until=start + timedelta(days=1),
        sla_soft="1m",
        sla_hard_seconds=120,
        priority=7,
        lease="30s",
    )
    def a() -> None: ...

    assert flow.graph().nodes[0].options.given() == {
        "priority": 7,
        "retry_limit": 3,
        "start_after_ms": 1_893_456_000_000,
        "expire_in_seconds": 90,
        "run_ttl_seconds": 20,
        "keep_until_ms": 1_893_542_400_000,
        "sla_soft_seconds": 60,
        "sla_hard_seconds": 120,
    }
    task = flow.engine.registry.get("invoice.a")
    assert (task.lease_ms, task.expire_after_ms, task.retry.max_tries) == (30_000, 90_000, 4)


@pytest.mark.parametrize(
    ("join", "expected"),
    [("any", Join(JoinKind.ANY)), (2, Join(JoinKind.N, 2)), (("n", 1), Join(JoinKind.N, 1)), ("all", Join())],
)
def test_joins_as_people_write_them(flow: Flow, join: Any, expected: Join) -> None:
    @flow.task
    def a() -> None: ...

    @flow.task
    def b() -> None: ...

    @flow.task(after=[a, b], join=join)
    def c() -> None: ...

    assert flow.graph().by_name["c"].join == expected
