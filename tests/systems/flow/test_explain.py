"""`explain` for flows and their nodes: waits for …, skipped because …, cancelled because …, and what helps."""

from __future__ import annotations

import threading

import pytest

from holdfast import Engine, Skip
from holdfast.kernel.graph.dag import Join, JoinKind
from holdfast.systems.flow.declare.flow import flows_of
from holdfast.systems.flow.handle import FlowHandle
from holdfast.systems.flow.views.node_words import Before, Beside, listed, why
from holdfast.testing import drain
from tests.api.calling import client_of
from tests.systems.flow.invoices import declare
from tests.working import until, working


def before(*states: str) -> tuple[Before, ...]:
    return tuple(Before(name, None, state) for name, state in zip("abcdefghij", states, strict=False))


@pytest.mark.parametrize(
    ("state", "node", "words"),
    [
        ("waiting", Beside(before("running"), Join()), "waits for a (ACTIVE)"),
        (
            *("waiting", Beside(before("running", "succeeded", "waiting"), Join())),
            "waits for a (ACTIVE) and c (CREATED), all of them",
        ),
        (
            *("waiting", Beside(before("retry_pending", "running"), Join(JoinKind.ANY))),
            "waits for a (RETRY) and b (ACTIVE), any of them",
        ),
        (
            *("waiting", Beside(before("running", "running", "succeeded"), Join(JoinKind.N, 2))),
            "waits for a (ACTIVE) and b (ACTIVE), 2 of 3",
        ),
        (
            *("waiting", Beside(before("running", "skipped"), Join(JoinKind.ALL_DONE))),
            "waits for a (ACTIVE), until all have ended",
        ),
        ("waiting", Beside(before("succeeded"), Join()), "waits for those before it"),
        (
            *("skipped", Beside((Before("a", None, "succeeded", True, ("x", "y")),), Join(), "branch_not_taken")),
            "skipped because a chose x and y (branch_not_taken)",
        ),
        (
            *("skipped", Beside((Before("a", None, "succeeded", True, ()),), Join(), "branch_not_taken")),
            "skipped because a chose none (branch_not_taken)",
        ),
        (
            *("skipped", Beside(before("skipped", "skipped"), Join(), "branch_not_taken")),
            "skipped because a and b were skipped (branch_not_taken)",
        ),
        (
            *("skipped", Beside(before("succeeded"), Join(), "branch_not_taken", has_run=True)),
            "skipped because its own condition did not hold (branch_not_taken)",
        ),
        ("skipped", Beside((), Join(), "nothing to do", has_run=True), "nothing to do"),
        (
            *("cancelled", Beside(before("failed", "succeeded", "expired", "cancelled"), Join(), "upstream_failed")),
            "cancelled because a failed, c expired and d was cancelled (upstream_failed)",
        ),
        (
            *("cancelled", Beside(before("succeeded"), Join(), "flow_failed", failed=("b", "c"))),
            "cancelled because b and c failed (flow_failed)",
        ),
        ("cancelled", Beside((), Join(), "not now"), "not now"),
        ("succeeded", Beside((), Join(), None), None),
    ],
)
def test_a_node_in_words(state: str, node: Beside, words: str | None) -> None:
    assert why(state, node) == words


def test_of_many_only_some_are_named() -> None:
    assert listed("abcde") == "a, b, c, d and e"
    assert listed("abcdefgh") == "a, b, c, d, e and 3 more"


class Asked:
    """Over HTTP, which says the same as the command line: both ask `situation_of`."""

    def __init__(self, app: Engine, handle: FlowHandle) -> None:
        self._client = client_of(app)
        self._handle = handle

    def flow(self) -> tuple[str, str]:
        return self._told(self._handle.id)

    def node(self, name: str, item: int | None = None) -> tuple[str, str]:
        [job_id] = [node.job_id for node in self._handle.nodes() if (node.name, node.item) == (name, item)]
        return self._told(job_id)

    def _told(self, job_id: str) -> tuple[str, str]:
        answer = self._client.get(f"/api/jobs/{job_id}/explain").json()
        return answer["sentence"], answer["command"]


def test_a_flow_from_its_start_to_a_failure_and_on(app: Engine) -> None:
    declare(app)
    flow = flows_of(app._inside)["invoice"]
    handle = flow.submit(doc="line 2 is broken")
    asked = Asked(app, handle)
    jobs = {node.name: node.job_id for node in handle.nodes()}
    assert asked.flow() == ("ACTIVE: 0 of 7 nodes ended, fetch is ready", f"holdfast job explain {jobs['fetch']}")
    assert "no worker has claimed" in asked.node("fetch")[0]
    assert asked.node("close") == (
        "CREATED: waits for pay (CREATED) and review (CREATED), all of them",
        f"holdfast flow show {handle.id}",
    )
    drain(app)
    assert asked.flow() == (
        "FAILED: 1 of 9 nodes failed: line[1] (ValueError: line 2 is smeared)",
        f"holdfast flow retry {handle.id}",
    )
    assert asked.node("review") == (
        "SKIPPED: skipped because check chose pay (branch_not_taken)",
        f"holdfast flow show {handle.id}",
    )
    assert asked.node("line", 1) == (
        "FAILED: try 1 of 1 ended with ValueError: line 2 is smeared",
        f"holdfast flow retry {handle.id}",
    )
    assert asked.node("total") == (
        "CANCELLED: cancelled because line[1] failed (upstream_failed)",
        f"holdfast flow retry {handle.id}",
    )
    new = handle.retry()
    assert asked.flow() == (
        f"FAILED: 1 of 9 nodes failed: line[1] (ValueError: line 2 is smeared); it goes on as flow {new.id}",
        f"holdfast job explain {new.id}",
    )
    good = flow.submit(doc="x")
    drain(app)
    sentence, command = Asked(app, good).flow()
    assert sentence.startswith("COMPLETED: all of 9 nodes ended after ")
    assert command == f"holdfast flow show {good.id}"


def test_what_runs_what_is_cancelled_and_what_went_with_its_flow(app: Engine) -> None:
    go = threading.Event()
    flow = app.flow("fast")

    @flow.task(retries=0)
    def slow() -> None:
        go.wait(20)
        raise RuntimeError("too late")

    @flow.task(when={"path": "$input.more", "op": "exists"})
    def more() -> None: ...

    @flow.task
    def idle() -> None:
        raise Skip("nothing to do")

    @flow.task(after=slow)
    def last(slow: None) -> None: ...

    @flow.task(start_after=None, after=idle, join="all_done", queue="elsewhere")
    def other(idle: None) -> None: ...

    handle = flow.submit()
    asked = Asked(app, handle)
    with working(app, queues=["default"], concurrency=2):
        until(lambda: {node.name: node.state for node in handle.nodes()}["other"] == "queued")
        until(lambda: {node.name: node.state for node in handle.nodes()}["slow"] == "running")
        assert asked.flow() == (
            "ACTIVE: 2 of 5 nodes ended, slow runs, other is ready",
            f"holdfast flow show {handle.id}",
        )
        assert asked.node("last")[0] == "CREATED: waits for slow (ACTIVE)"
        assert asked.node("idle")[0] == "SKIPPED: there was nothing to do: nothing to do"
        assert asked.node("more")[0] == "SKIPPED: skipped because its own condition did not hold (branch_not_taken)"
        go.set()
        handle.wait(20)
    assert asked.node("other") == (
        "CANCELLED: cancelled because slow failed (flow_failed)",
        f"holdfast flow retry {handle.id}",
    )
    stopped = flow.submit()
    stopped.cancel("not now")
    told = Asked(app, stopped)
    for sentence, command in (told.flow(), told.node("last")):
        assert sentence.startswith("CANCELLED: stopped by ")
        assert sentence.endswith("(not now)")
        assert command == f"holdfast flow resume {stopped.id}"
