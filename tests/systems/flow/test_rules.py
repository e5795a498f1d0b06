"""What the workflow scheduler's rules ask of flows, row by row, on both stores and with the worker's own code."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from holdfast import Context, Engine, PermanentError, Skip, TransientError
from holdfast.audit.auditor import audit
from holdfast.systems.flow.declare.flow import Flow, flows_of
from holdfast.systems.flow.handle import FlowHandle
from holdfast.testing import MovableClock, drain
from holdfast.views.job import job_view
from tests.systems.flow.invoices import declare
from tests.working import events_of, job_of


def labels(app: Engine, handle: FlowHandle) -> dict[str, str]:
    """Of each node, the state as its lifecycle calls it."""
    return {node.name: str(app.get_job(node.job_id).state) for node in handle.nodes() if node.item is None}


def ids(handle: FlowHandle) -> dict[str, str]:
    return {node.name: node.job_id for node in handle.nodes()}


def sound(app: Engine) -> None:
    report = app._inside.portal.call(audit(app.url, processes=False))
    assert report.violations == []


@pytest.mark.rule("W09")
def test_a_branch_not_taken_is_skipped_and_what_hangs_on_it_alone(app: Engine) -> None:
    flow = app.flow("ways")
    ran: list[str] = []

    def node(name: str, *after: str, **options: Any) -> None:
        def run(**_: Any) -> str:
            ran.append(name)
            return name

        flow.task(after=after, name=name, **options)(run)

    node("choose")
    node("left", "choose")
    node("right", "choose")
    node("always", "choose")  # no case names it
    node("behind_left", "left")
    node("far_behind_left", "behind_left")
    node("either", "left", "right")
    node("behind_both_lefts", "left", "far_behind_left")
    node("with_always", "behind_left", "always")
    node("whatever_comes", "left", "behind_left", join="all_done")
    node("behind_either", "either")
    flow.branch("choose", cases=[(lambda _: False, ["left"])], default=["right"])
    handle = flow.submit()
    drain(app)
    skipped = {"left", "behind_left", "far_behind_left", "behind_both_lefts"}
    assert {name for name, state in labels(app, handle).items() if state == "SKIPPED"} == skipped
    assert {name for name, state in labels(app, handle).items() if state == "COMPLETED"} == set(ran)
    assert len(ran) == len(set(ran)) == 11 - len(skipped)
    for name in skipped:
        job_id = ids(handle)[name]
        *_, last = events_of(app, job_id)
        assert (last.type, last.reason, last.from_state) == ("job_skipped", "branch_not_taken", "waiting")
        assert view(app, job_id)["output_metadata"] == {"reason": "branch_not_taken"}
        assert not app.get_job(job_id).state.was_executed()
    assert handle.state() == "COMPLETED", "a flow with skipped nodes completes"
    sound(app)


def view(app: Engine, job_id: str) -> dict[str, Any]:
    job = job_of(app, job_id)
    return job_view(job, app._inside.tables[job.lifecycle])


DOCUMENT = {"n": 7, "text": "invoice 17", "tags": ["a", "b"], "none": None, "empty": [], "nested": {"deep": [1, 2]}}
OPERATORS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "==": ({"path": "n", "value": 7.0}, {"path": "n", "value": "7"}),
    "!=": ({"path": "n", "value": 8}, {"path": "n", "value": 7}),
    ">": ({"path": "nested.deep.1", "value": 1}, {"path": "n", "value": 7}),
    "<": ({"path": "n", "value": 7.5}, {"path": "n", "value": 7}),
    ">=": ({"path": "n", "value": 7}, {"path": "n", "value": 8}),
    "<=": ({"path": "text", "value": "jnvoice"}, {"path": "n", "value": "9"}),
    "in": ({"path": "n", "value": [6, 7]}, {"path": "n", "value": [6]}),
    "not in": ({"path": "n", "value": [6]}, {"path": "n", "value": [7]}),
    "contains": ({"path": "tags", "value": "a"}, {"path": "text", "value": "18"}),
    "not contains": ({"path": "tags", "value": "c"}, {"path": "text", "value": "17"}),
    "matches": ({"path": "text", "value": "^inv.* [0-9]+$"}, {"path": "text", "value": "^17"}),
    "exists": ({"path": "none"}, {"path": "gone"}),
    "not exists": ({"path": "gone"}, {"path": "none"}),
    "is empty": ({"path": "empty"}, {"path": "tags"}),
    "is not empty": ({"path": "tags"}, {"path": "none"}),
}
SO, NOT_SO = {"path": "n", "op": "==", "value": 7}, {"path": "n", "op": "==", "value": 8}
GROUPS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "and": ({"and": [SO, SO]}, {"and": [SO, NOT_SO]}),
    "or": ({"or": [NOT_SO, SO]}, {"or": [NOT_SO, NOT_SO]}),
    "not": ({"not": NOT_SO}, {"not": SO}),
    "nested": ({"or": [NOT_SO, {"and": [SO, {"not": NOT_SO}]}]}, {"and": [SO, {"or": [NOT_SO, NOT_SO]}]}),
}


def test_every_operator_and_group_decides_about_a_way(app: Engine) -> None:
    flow = app.flow("judged")
    flow.task(name="choose")(lambda: DOCUMENT)
    pairs = [({**so, "op": op}, {**not_so, "op": op}) for op, (so, not_so) in OPERATORS.items()]
    cases: list[tuple[Any, str]] = []
    for number, pair in enumerate([*pairs, *GROUPS.values()]):
        for condition, kind in zip(pair, ("so", "not_so"), strict=True):
            name = f"{kind}_{number}"
            flow.task(after="choose", name=name)(lambda choose: None)
            flow.task(after="choose", name=f"when_{name}", when=_of(condition, "choose"))(lambda choose: None)
            cases.append((condition, name))
    flow.branch("choose", cases=cases, mode="all")
    handle = flow.submit()
    drain(app)
    found = {name: state for name, state in labels(app, handle).items() if name != "choose"}
    assert len(found) == 4 * (len(OPERATORS) + len(GROUPS))
    wrong = {name: state for name, state in found.items() if (state == "SKIPPED") != ("not_so" in name)}
    assert wrong == {}


def _of(condition: Any, parent: str) -> Any:
    """The same condition about a parent's result, as `when` looks at it."""
    if "path" in condition:
        return {**condition, "path": f"{parent}.{condition['path']}"}
    [(group, parts)] = condition.items()
    return {group: _of(parts, parent) if group == "not" else [_of(part, parent) for part in parts]}


MODES: list[tuple[str, int, set[str]]] = [
    ("first", 15, {"above_10"}),
    ("first", 25, {"above_10"}),
    ("first", 6, {"above_5"}),
    ("all", 25, {"above_10", "above_5", "above_20"}),
    ("all", 6, {"above_5"}),
    ("priority", 25, {"above_20"}),
    ("priority", 15, {"above_5"}),
    *((mode, 1, {"otherwise"}) for mode in ("first", "all", "priority")),
]


def test_each_kind_of_branch_takes_its_ways(app: Engine) -> None:
    names = {10: ("above_10", 1), 5: ("above_5", 2), 20: ("above_20", 3)}
    flows: dict[str, Flow] = {}
    for mode in ("first", "all", "priority"):
        flow = flows[mode] = app.flow(mode)
        flow.task(name="score")(_same)
        for name in ("above_10", "above_5", "above_20", "otherwise"):
            flow.task(after="score", name=name)(lambda score: score)
        cases = [({"path": "", "op": ">", "value": n}, *names[n]) for n in (10, 5, 20)]
        flow.branch("score", cases=cases, default="otherwise", mode=mode)
    handles = [flows[mode].submit(n=n) for mode, n, _ in MODES]
    drain(app)
    for handle, (mode, n, taken) in zip(handles, MODES, strict=True):
        ended = labels(app, handle)
        assert {name for name, state in ended.items() if state == "COMPLETED"} == {"score", *taken}, (mode, n)
        assert handle.state() == "COMPLETED"


def _same(n: int) -> int:
    return n


JOINS: dict[str, tuple[Any, list[str], str]] = {
    "all_skipped_parent_does_not_block": ("all", ["good", "skipped"], "COMPLETED"),
    "all_of_nothing_but_skipped": ("all", ["skipped"], "SKIPPED"),
    "all_with_a_failed": ("all", ["good", "failed"], "CANCELLED"),
    "any_good": ("any", ["failed", "good"], "COMPLETED"),
    "any_of_nothing_but_skipped": ("any", ["skipped"], "SKIPPED"),
    "any_without_a_good": ("any", ["skipped", "failed"], "CANCELLED"),
    "two_good": (2, ["good", "also_good", "failed"], "COMPLETED"),
    "two_wanted_one_skipped": (2, ["good", "skipped"], "SKIPPED"),
    "two_wanted_one_failed": (2, ["good", "skipped", "failed"], "CANCELLED"),
    "all_done_of_skipped": ("all_done", ["skipped"], "COMPLETED"),
    "all_done_of_both": ("all_done", ["good", "skipped"], "COMPLETED"),
    "all_done_with_a_failed": ("all_done", ["good", "failed"], "CANCELLED"),
}


def test_each_join_waits_for_what_it_says(app: Engine) -> None:
    flow = app.flow("joins", on_failure="finish")

    def skip() -> None:
        raise Skip("nothing to do")

    def fail() -> None:
        raise PermanentError("no")

    for name, function in {"good": _good, "also_good": _good, "skipped": skip, "failed": fail}.items():
        flow.task(name=name)(function)
    for name, (join, parents, _) in JOINS.items():
        flow.task(after=parents, name=name, join=join)(lambda **_: None)
    handle = flow.submit()
    drain(app)
    ended = labels(app, handle)
    assert {name: ended[name] for name in JOINS} == {name: end for name, (_, _, end) in JOINS.items()}
    reasons = {name: events_of(app, ids(handle)[name])[-1].reason for name in JOINS}
    assert {reasons[name] for name in JOINS if ended[name] == "SKIPPED"} == {"branch_not_taken"}
    assert {reasons[name] for name in JOINS if ended[name] == "CANCELLED"} == {"upstream_failed"}
    assert handle.state() == "FAILED"
    sound(app)


def _good() -> int:
    return 1


@pytest.mark.rule("W16")
def test_a_dag_has_dependencies_branches_fan_out_joins_and_a_state_of_its_own(app: Engine) -> None:
    declare(app)
    flow = flows_of(app._inside)["invoice"]
    done, broken, stopped = (flow.submit(doc=doc) for doc in ("x", "broken", "y"))
    assert [handle.state() for handle in (done, broken, stopped)] == ["ACTIVE"] * 3
    stopped.cancel("not now")
    drain(app)
    assert [handle.state() for handle in (done, broken, stopped)] == ["COMPLETED", "FAILED", "CANCELLED"]
    assert done.result() == {"close": "paid 3", "total": 30}, "the join has what was taken, and the list is whole"
    assert labels(app, done)["review"] == "SKIPPED"
    assert {node["name"] for node in done.show()["nodes"]} == set(labels(app, done))
    assert {node.item for node in done.nodes() if node.name == "line"} == {None, 0, 1}, (
        "the node, and one for each item"
    )
    rest = labels(app, broken)
    assert rest.pop("fetch") == "FAILED"
    assert set(rest.values()) == {"CANCELLED"}, "nothing runs that depends on it"
    starts = {node.name: node.started_at_ms or 0 for node in done.nodes()}
    ends = {node.name: node.finished_at_ms or 0 for node in done.nodes()}
    assert ends["fetch"] <= starts["check"] <= ends["check"] <= starts["pay"] <= ends["pay"] <= starts["close"]
    stopped.resume()
    drain(app)
    assert stopped.state() == "COMPLETED"
    sound(app)


def test_what_a_node_says_of_its_own_runs_holds_for_it(app: Engine, clock: MovableClock) -> None:
    flow = app.flow("terms", on_failure="finish")
    start, keep = clock.now + timedelta(minutes=10), clock.now + timedelta(days=30)

    @flow.task
    def first(ctx: Context) -> int:
        ctx.output(rows=3)
        return clock()

    @flow.task(after=first, start_after=start, keep_until=keep, run_ttl_seconds=20)
    def later(first: int) -> int:
        return clock()

    @flow.task(after=later, expire_in_seconds=60)
    def impatient(later: int) -> None: ...

    @flow.task(expire_in_seconds=60, retry_limit=5, retry_delay=3600)
    def unlucky() -> None:
        raise TransientError("not now")

    handle = flow.submit()
    drain(app)
    jobs = ids(handle)
    assert view(app, jobs["first"])["output_metadata"] == {"rows": 3}
    assert labels(app, handle) == {
        "first": "COMPLETED",
        "later": "CREATED",
        "impatient": "CREATED",
        "unlucky": "RETRY",
    }
    released = view(app, jobs["later"])
    assert (released["canonical_state"], released["start_after"]) == ("queued", released["due_at"])
    assert app.get_job(jobs["later"]).due_at_ms == round(start.timestamp() * 1_000), "released, and held back"
    assert app.get_job(jobs["later"]).keep_until_ms == round(keep.timestamp() * 1_000)
    assert '"timeout_ms":20000' in (app.get_job(jobs["later"]).options or "")
    clock.advance("60s")
    drain(app)
    assert (labels(app, handle)["impatient"], labels(app, handle)["unlucky"]) == ("EXPIRED", "EXPIRED")
    assert handle.state() == "ACTIVE", "later is still to come"
    clock.advance("9m")
    drain(app)
    assert labels(app, handle)["later"] == "COMPLETED"
    assert handle.state() == "FAILED", "what expired did not end well"
    sound(app)
