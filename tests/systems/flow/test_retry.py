"""A flow that did not end well goes on as a new one: what ended well is not run again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from holdfast import Engine, HoldfastError
from holdfast.kernel.errors import NotAllowedError, NotFoundError
from holdfast.kernel.proof.invariants import Inspector
from holdfast.store.port import Filter
from holdfast.systems.flow.declare.flow import Flow
from holdfast.systems.flow.handle import FlowHandle
from holdfast.testing import MovableClock, drain
from tests.working import events_of

Broken = set[str]


@pytest.fixture
def broken() -> Broken:
    """The nodes that fail when they run."""
    return set()


@pytest.fixture
def ran() -> Counter[str]:
    return Counter()


@pytest.fixture
def run(broken: Broken, ran: Counter[str]) -> Callable[[str], None]:
    def run(name: str) -> None:
        ran[name] += 1
        if name in broken:
            raise RuntimeError(f"{name} is broken")

    return run


@pytest.fixture
def flow(app: Engine, run: Callable[[str], None]) -> Flow:
    """a → b → d, a → c → d, and e beside them."""
    flow = app.flow("plain", on_failure="finish")

    @flow.task(retries=0)
    def a(n: int) -> int:
        run("a")
        return n

    @flow.task(after=a, retries=0)
    def b(a: int) -> int:
        run("b")
        return a * 10

    @flow.task(after=a, retries=0)
    def c(a: int) -> int:
        run("c")
        return a * 100

    @flow.task(after=[b, c], retries=0)
    def d(b: int, c: int, n: int) -> int:
        run("d")
        return b + c + n

    @flow.task(retries=0)
    def e() -> str:
        run("e")
        return "e"

    return flow


def states(handle: FlowHandle) -> dict[str, str]:
    return {node.name if node.item is None else f"{node.name}[{node.item}]": node.state for node in handle.nodes()}


def test_only_what_did_not_end_well_is_run_again(app: Engine, flow: Flow, broken: Broken, ran: Counter[str]) -> None:
    broken |= {"b"}
    old = flow.submit(n=2)
    drain(app)
    assert old.state() == "FAILED"
    assert states(old) == {"a": "succeeded", "b": "failed", "c": "succeeded", "d": "cancelled", "e": "succeeded"}
    broken.clear()
    new = old.retry("the disk is mended")
    assert (new.id != old.id, new.created) == (True, True)
    assert states(new) == {"b": "queued", "d": "waiting"}
    drain(app)
    assert new.state() == "COMPLETED"
    assert ran == {"a": 1, "b": 2, "c": 1, "d": 1, "e": 1}
    assert new.result() == {"d": 222, "e": "e"}, "what was kept is its own"
    assert old.state() == "FAILED", "nothing leaves FAILED"
    job = new.job()
    assert (job.parent_id, job.key, job.payload) == (old.id, f"retry:{old.id}", '{"n":2}')
    assert (job.correlation_id, events_of(app, new.id)[0].cause) == (old.job().correlation_id or old.id, old.id)
    [b] = [node for node in new.nodes() if node.name == "b"]
    first = events_of(app, b.job_id)[0]
    assert (first.reason, first.cause) == (
        "the disk is mended",
        next(node.job_id for node in old.nodes() if node.name == "b"),
    )
    assert app.get_job(b.job_id).parent_id == new.id
    sound(app)


def test_twice_gives_the_same_and_a_retry_is_retried_in_its_turn(
    app: Engine, flow: Flow, broken: Broken, ran: Counter[str]
) -> None:
    broken |= {"b", "c", "d"}
    first = flow.submit(n=1)
    drain(app)
    broken -= {"b"}
    second = first.retry()
    again = first.retry()
    assert (again.id, again.created) == (second.id, False)
    drain(app)
    assert states(second) == {"b": "succeeded", "c": "failed", "d": "cancelled"}
    assert first.retry().id == second.id, "there is one at most, however it ended"
    broken.clear()
    third = second.retry()
    assert states(third) == {"c": "queued", "d": "waiting"}
    drain(app)
    assert third.result() == {"d": 111, "e": "e"}
    assert ran == {"a": 1, "b": 2, "c": 3, "d": 1, "e": 1}
    assert set(third.graph().by_name) == {"b", "c", "d", "a"}
    assert third.graph().by_name["d"].after == ("b", "c") or set(third.graph().by_name["d"].after) == {"b", "c"}
    sound(app)


def test_a_flow_that_is_under_way_or_ended_well_is_not_retried(app: Engine, flow: Flow) -> None:
    handle = flow.submit(n=1)
    with pytest.raises(NotAllowedError, match="is ACTIVE; wait until it has ended"):
        handle.retry()
    drain(app)
    with pytest.raises(NotAllowedError, match="is COMPLETED; it needs no retry"):
        handle.retry()
    with pytest.raises(NotFoundError, match="no flow"):
        FlowHandle(app._inside, handle.nodes()[0].job_id).retry()
    assert len(app.list_jobs()) == 6


def test_a_cancelled_flow_goes_on(app: Engine, flow: Flow, ran: Counter[str]) -> None:
    handle = flow.submit(n=3)
    handle.cancel("not now")
    assert handle.state() == "CANCELLED"
    new = handle.retry()
    assert states(new) == {"a": "queued", "b": "waiting", "c": "waiting", "d": "waiting", "e": "queued"}
    drain(app)
    assert new.result() == {"d": 333, "e": "e"}
    assert handle.resume() == "ACTIVE", "the old one may still come back"


def test_fail_fast_cancels_the_rest_and_the_retry_runs_it(
    app: Engine, broken: Broken, run: Callable[[str], None]
) -> None:
    flow = app.flow("fast")

    @flow.task(retries=0)
    def one() -> int:
        run("one")
        return 1

    @flow.task(after=one, retries=0)
    def two(one: int) -> int:
        run("two")
        return 2

    @flow.task(after=two)
    def three(two: int) -> int:
        run("three")
        return 3

    broken |= {"two"}
    old = flow.submit()
    drain(app)
    assert states(old)["three"] == "cancelled"
    broken.clear()
    new = old.retry()
    drain(app)
    assert new.result() == {"three": 3}


def test_of_a_list_only_the_items_that_failed(app: Engine, broken: Broken, run: Callable[[str], None]) -> None:
    flow = app.flow("pages", on_failure="finish")

    @flow.task
    def pages(n: int) -> list[int]:
        return list(range(n))

    @flow.task(map_over=pages, retries=0)
    def read(page: int) -> str:
        run(f"read{page}")
        return f"p{page}"

    @flow.task(after=read)
    def bind(read: list[str]) -> str:
        return " ".join(read)

    broken |= {"read1", "read3"}
    old = flow.submit(n=5)
    drain(app)
    assert old.state() == "FAILED"
    broken -= {"read3"}
    new = old.retry()
    assert states(new) == {"read[1]": "queued", "read[3]": "queued", "bind": "waiting"}
    drain(app)
    assert states(new) == {"read[1]": "failed", "read[3]": "succeeded", "bind": "cancelled"}
    broken.clear()
    last = new.retry()
    assert states(last) == {"read[1]": "queued", "bind": "waiting"}
    drain(app)
    assert last.result() == {"bind": "p0 p1 p2 p3 p4"}
    sound(app)


def test_the_list_itself_failed(app: Engine, broken: Broken, run: Callable[[str], None]) -> None:
    flow = app.flow("list", on_failure="finish")

    @flow.task(retries=0)
    def pages(n: int) -> list[int]:
        run("pages")
        return list(range(n))

    @flow.task(map_over=pages, retries=0)
    def read(page: int) -> int:
        return page

    broken |= {"pages"}
    old = flow.submit(n=3)
    drain(app)
    assert states(old) == {"pages": "failed", "read": "cancelled"}
    broken.clear()
    new = old.retry()
    drain(app)
    assert new.result() == {"read": [0, 1, 2]}


def test_a_way_that_was_not_taken_stays_so(app: Engine, broken: Broken, run: Callable[[str], None]) -> None:
    flow = app.flow("ways", on_failure="finish")

    @flow.task
    def total(n: int) -> int:
        return n

    @flow.task
    def small(total: int) -> str:
        return "small"

    @flow.task
    def large(total: int) -> str:
        return "large"

    @flow.task(after=[total, small, large], retries=0)
    def tell(total: int | None, small: str | None, large: str | None) -> list[Any]:
        run("tell")
        return [total, small, large]

    flow.branch(after=total, cases=[(lambda n: n > 10, [large])], default=[small, tell])
    broken |= {"tell"}
    old = flow.submit(n=11)
    drain(app)
    assert states(old) == {"total": "succeeded", "small": "skipped", "large": "succeeded", "tell": "failed"}
    broken.clear()
    new = old.retry()
    assert states(new) == {"tell": "queued"}
    drain(app)
    assert new.result() == {"tell": [None, None, "large"]}, "total chose large: it gives nothing to the others"


def test_what_nobody_wants_any_more_is_skipped_and_the_flow_ends_at_once(app: Engine) -> None:
    flow = app.flow("unwanted")

    @flow.task
    def choose() -> int:
        asked.cancel("enough")
        return 1

    @flow.task(after=choose)
    def left(choose: int) -> int:
        return choose

    @flow.task(after=left)
    def behind(left: int) -> int:
        return left

    @flow.task(after=choose)
    def right(choose: int) -> int:
        return choose

    flow.branch(after=choose, cases=[(lambda n: n == 2, left)], default=right)
    asked = flow.submit()
    drain(app)
    # Cancelled while it chose: those behind it were stopped before they could be skipped.
    assert states(asked) == {"choose": "succeeded", "left": "cancelled", "behind": "cancelled", "right": "cancelled"}
    new = asked.retry()
    assert states(new) == {"left": "skipped", "behind": "skipped", "right": "queued"}
    new.cancel()
    last = new.retry()
    drain(app)
    assert last.state() == "COMPLETED"
    sound(app)


def test_a_flow_of_which_only_skipped_nodes_are_left_ends_as_it_is_made(app: Engine) -> None:
    flow = app.flow("at_once")

    @flow.task
    def choose() -> int:
        asked.cancel("enough")
        return 1

    @flow.task(after=choose)
    def left(choose: int) -> int:
        return choose

    flow.branch(after=choose, cases=[(lambda n: n == 2, left)])
    asked = flow.submit()
    drain(app)
    assert states(asked) == {"choose": "succeeded", "left": "cancelled"}
    new = asked.retry()
    assert (new.state(), states(new)) == ("COMPLETED", {"left": "skipped"})
    assert new.result() == {}
    sound(app)


def test_terms_and_deadlines_go_along(app: Engine, clock: MovableClock) -> None:
    flow = app.flow("terms")

    @flow.task(queue="slow", priority=7, retries=4, timeout="9s", sla_soft="1m", sla_hard="2m", expires="1h")
    def work() -> None: ...

    old = flow.options(tags=("x",)).submit()
    old.cancel()
    clock.advance("10m")
    new = old.retry()
    before, after = (app.get_job(handle.nodes()[0].job_id) for handle in (old, new))
    for field in ("queue", "priority", "max_tries", "lease_ms", "tags", "options", "payload"):
        assert getattr(after, field) == getattr(before, field)
    assert after.expires_at_ms == clock() + 3_600_000

    async def promoted(at_ms: int) -> int:
        return await (await app._inside.opened()).upkeep.promote(at_ms, 10)

    app._inside.portal.call(promoted(clock()))  # those of the old one, which has ended
    assert app._inside.portal.call(promoted(clock() + 59_000)) == 0
    assert app._inside.portal.call(promoted(clock() + 60_000)) == 1
    assert app._inside.portal.call(promoted(clock() + 120_000)) == 1


def test_a_flow_whose_nodes_are_gone_is_refused(app: Engine, flow: Flow, broken: Broken) -> None:
    broken |= {"d"}
    old = flow.submit(n=1)
    drain(app)
    [a] = [node.job_id for node in old.nodes() if node.name == "a"]

    async def remove() -> None:
        from holdfast.commands.delete import delete

        await delete(await app._inside.opened(), [a])

    app._inside.portal.call(remove())
    with pytest.raises(HoldfastError, match="were removed with their results; submit it anew"):
        old.retry()


def test_a_flow_or_a_node_is_not_retried_as_a_job(app: Engine, flow: Flow, broken: Broken) -> None:
    broken |= {"b"}
    old = flow.submit(n=1)
    drain(app)
    for job_id in (old.id, *(node.job_id for node in old.nodes() if node.state == "failed")):
        with pytest.raises(NotAllowedError, match=f"holdfast flow retry {old.id}"):
            app.retry_job(job_id)
    assert len(app.list_jobs()) == 6


def sound(app: Engine) -> None:
    """Every job is what its events say."""

    async def look() -> list[Any]:
        store = await app._inside.opened()
        inspector = Inspector(store.tables)
        found: list[Any] = []
        for job in (await store.reads.list(Filter(), limit=500)).items:
            found += inspector.job(job, await store.reads.events(job.id))
        return found

    assert app._inside.portal.call(look()) == []
