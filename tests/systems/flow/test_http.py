"""Flows over HTTP: started by name or as data, listed, shown with their nodes, cancelled, resumed, retried, drawn."""

from __future__ import annotations

import time
from typing import Any

import pytest

from holdfast import Context, Engine
from holdfast.systems.flow.routes.schemas import Flow, FlowJob, MadeFlow
from holdfast.testing import MovableClock, drain
from tests.api.calling import Client, client_of
from tests.systems.flow.invoices import declare
from tests.working import until, working

FLOWS = "/api/flows"
DAG: dict[str, Any] = {
    "on_failure": "finish",
    "input": {"n": 3},
    "nodes": [
        {"name": "first", "task": "double"},
        {"name": "second", "task": "plus", "after": ["first"], "inputs": {"a": "first"}, "args": {"b": 10}},
    ],
}


@pytest.fixture
def client(app: Engine) -> Client:
    declare(app)
    return client_of(app)


def started(client: Client, body: Any, name: str = "invoice", status: int = 201) -> Any:
    answer = client.post(f"{FLOWS}/{name}", body)
    assert answer.status_code == status, answer.text
    MadeFlow.model_validate(answer.json())
    return answer.json()


def shown(client: Client, flow_id: str) -> Any:
    answer = client.get(f"{FLOWS}/{flow_id}")
    assert answer.status_code == 200, answer.text
    Flow.model_validate(answer.json())
    return answer.json()


def by_title(view: Any) -> dict[str, Any]:
    return {n["name"] if n["item"] is None else f"{n['name']}[{n['item']}]": n for n in view["nodes"]}


def test_a_declared_flow_is_started_shown_and_gives_its_result(
    app: Engine, client: Client, clock: MovableClock
) -> None:
    made = started(client, {"input": {"doc": "2024-17"}, "tags": ["q1"], "correlation_id": "c-1"})
    assert (made["task"], made["lifecycle"], made["state"], made["canonical_state"]) == (
        *("invoice", "flow"),
        *("ACTIVE", "waiting"),
    )
    assert made["counts"] == {"nodes": 7, "open": 7, "failed": 0, "cancelled": 0}
    assert (made["created"], made["payload"], made["tags"]) == (True, {"doc": "2024-17"}, ["q1"])
    waiting = by_title(shown(client, made["id"]))
    assert {name: node["why"] for name, node in waiting.items()} == {
        "fetch": None,
        "check": "waits for fetch (CREATED)",
        "pay": "waits for check (CREATED)",
        "review": "waits for check (CREATED)",
        "close": "waits for pay (CREATED) and review (CREATED), all of them",
        "line": "waits for fetch (CREATED)",
        "total": "waits for line (CREATED)",
    }
    assert [name for name, node in waiting.items() if node["queued_at"]] == ["fetch"]
    refused = client.get(f"/api/jobs/{made['id']}/result")
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict_state")
    submitted_ms = clock()
    clock.advance("5s")
    drain(app)
    done = shown(client, made["id"])
    nodes = by_title(done)
    assert (done["state"], done["counts"]) == ("COMPLETED", {"nodes": 9, "open": 0, "failed": 0, "cancelled": 0})
    assert list(nodes) == ["fetch", "check", "line", "line[0]", "line[1]", "pay", "review", "total", "close"]
    assert nodes["review"]["state"] == "SKIPPED"
    assert nodes["review"]["why"] == "skipped because check chose pay (branch_not_taken)"
    assert (nodes["review"]["queued_at"], nodes["review"]["started_at"]) == (None, None)
    times = [nodes["fetch"][each] for each in ("queued_at", "started_at", "ended_at")]
    assert times == sorted(times)
    assert times[0] < times[1], f"ready at {submitted_ms}, started 5 s later"
    assert nodes["close"]["queued_at"] >= nodes["pay"]["ended_at"]
    ids = {node["job_id"]: name for name, node in nodes.items()}
    edges = {(ids[edge["from"]], ids[edge["to"]]): edge["taken"] for edge in done["edges"]}
    assert edges["check", "pay"] is True
    assert edges["check", "review"] is False
    assert edges["review", "close"] is False
    assert edges["line[1]", "total"] is True
    result = client.get(f"/api/jobs/{made['id']}/result").json()
    assert (result["state"], result["result"]) == ("COMPLETED", {"close": "paid 3", "total": 30})
    node = client.get(f"/api/jobs/{nodes['close']['job_id']}").json()
    assert (node["parent_id"], node["correlation_id"], node["result"]) == (made["id"], "c-1", "paid 3")


def test_a_dag_is_sent_as_data(app: Engine, client: Client) -> None:
    made = started(client, DAG, "sums")
    assert (made["task"], made["on_failure"], made["counts"]["nodes"]) == ("sums", "finish", 2)
    drain(app)
    assert client.get(f"/api/jobs/{made['id']}/result").json()["result"] == {"second": 16}
    nodes = shown(client, made["id"])["nodes"]
    assert [(node["task"], node["state"]) for node in nodes] == [("double", "COMPLETED"), ("plus", "COMPLETED")]
    lifecycles = {client.get(f"/api/jobs/{node['job_id']}").json()["lifecycle"] for node in nodes}
    assert lifecycles == {"workflow"}, "nodes follow the lifecycle of nodes, whatever their tasks follow by themselves"


def node(**fields: Any) -> dict[str, Any]:
    return DAG | {"nodes": [*DAG["nodes"], {"name": "third", "task": "double", "after": ["second"]} | fields]}


ROUND = [{"name": "a", "task": "double", "after": "b"}, {"name": "b", "task": "double", "after": "a"}]
WRONG: list[tuple[Any, str, str]] = [
    ({"nodes": ROUND}, "nodes[0].after", "closes a cycle: a → b → a; leave out one of these edges"),
    (node(after=["second", "gone"]), "nodes[2].after[1]", "which is no node"),
    (node(task="gone"), "nodes[2].task", "is 'gone', which is no task; declared here: charge, double"),
    (node(task="charge"), "nodes[2].task", 'is compensated: a node cannot; declare a task with lifecycle="workflow"'),
    (node(task="visit"), "nodes[2].task", "follows crawl: a node cannot"),
    (node(args={"m": 1}), "nodes[2].inputs.m", "m is no parameter of its function; it takes n"),
    (node(name="first"), "nodes[2].name", "as nodes[0] is"),
    (node(join="some"), "nodes[2].join", "is 'some'"),
    (node(when={"path": "second", "op": "~"}), "nodes[2].when.op", "one of"),
    (node(when={"predicate": "os.system"}), "nodes[2].when.predicate", "write a condition"),
    (node(start_after="tomorrow"), "nodes[2].start_after", "write a time since 1970 with its zone"),
    (node(colour="red"), "nodes[2].colour", "is no known field"),
    ({"nodes": []}, "nodes", "a flow has 1 to"),
    ({"nodes": "all"}, "nodes", "write a list"),
    ({"nodes": DAG["nodes"], "on_failure": "panic"}, "on_failure", "'fail_fast' or 'finish'"),
    ({"nodes": DAG["nodes"]}, "input", "missing a required"),
    ({"nodes": DAG["nodes"], "input": {"n": "x"}}, "input.n", "Expected `int`"),
    ({"nodes": DAG["nodes"], "input": {"n": 1, "m": 2}}, "input", "unexpected keyword argument 'm'"),
    ({**DAG, "colour": "red"}, "colour", "no such field"),
    ({**DAG, "duplicates": "perhaps"}, "duplicates", "return"),
]


def test_what_is_wrong_is_named_and_nothing_is_stored(app: Engine, client: Client) -> None:
    for body, field, says in WRONG:
        answer = client.post(f"{FLOWS}/sums", body)
        problem = answer.json()
        assert (answer.status_code, problem["code"], problem["field"]) == (422, "invalid_field", field), answer.text
        assert says in problem["detail"]
    assert app.list_jobs() == []


def test_a_flow_that_nobody_declares(app: Engine, client: Client) -> None:
    answer = client.post(f"{FLOWS}/gone")
    problem = answer.json()
    assert (answer.status_code, problem["field"], problem["allowed"]) == (404, "name", ["invoice"])
    assert "declared here: invoice; or send its `nodes`" in problem["detail"]
    for body, field in (({}, "input"), ({"input": {"doc": 3}}, "input.doc"), ({"on_failure": "finish"}, "on_failure")):
        answer = client.post(f"{FLOWS}/invoice", body)
        assert (answer.status_code, answer.json()["field"]) == (422, field)
    bad = client.post(f"{FLOWS}/a%20b", DAG)
    assert (bad.status_code, bad.json()["field"]) == (422, "name")
    for path in ("00000000-0000-7000-8000-000000000000", "nothing", app.submit("double", {"n": 1}).id):
        for answer in (
            client.get(f"{FLOWS}/{path}"),
            *(client.post(f"{FLOWS}/{path}/{verb}") for verb in ("cancel", "resume", "retry")),
        ):
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_the_same_key_gives_the_same_flow(app: Engine, client: Client) -> None:
    body = {"input": {"doc": "x"}, "key": "2024-17"}
    first, again = started(client, body), started(client, body, status=200)
    assert (again["id"], again["created"], "exists already" in again["message"]) == (first["id"], False, True)
    assert client.post(f"{FLOWS}/invoice", {**body, "duplicates": "reject"}).json()["code"] == "duplicate_key"
    other = started(client, {**body, "duplicates": "replace"})
    assert other["id"] != first["id"]
    assert shown(client, first["id"])["state"] == "CANCELLED", "the one that it replaces goes with all its nodes"
    assert len(app.list_jobs(limit=100)) == 16
    for name in ("allow_all", "allow_duplicate", "allow"):
        assert started(client, {**body, "duplicates": name})["created"]
    for name in ("reject_all", "reject_duplicate"):
        assert client.post(f"{FLOWS}/invoice", {**body, "duplicates": name}).status_code == 409


def test_a_repeat_under_its_idempotency_key_starts_nothing_more(app: Engine, client: Client) -> None:
    keyed = {"headers": {"Idempotency-Key": "k1"}}
    first, again = (client.post(f"{FLOWS}/sums", DAG, **keyed) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.content == again.content
    assert again.headers["Idempotency-Replayed"] == "true"
    assert len(app.list_jobs()) == 3
    other = client.post(f"{FLOWS}/sums", {**DAG, "input": {"n": 4}}, **keyed)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
    flow_id = first.json()["id"]
    twice = [client.post(f"{FLOWS}/{flow_id}/cancel", headers={"Idempotency-Key": "k2"}).content for _ in range(2)]
    assert twice[0] == twice[1], "the first answer, not a conflict"


def test_cancel_and_resume(app: Engine, client: Client, clock: MovableClock) -> None:
    flow_id = started(client, DAG, "sums")["id"]
    ready_at = shown(client, flow_id)["nodes"][0]["queued_at"]
    answer = client.post(f"{FLOWS}/{flow_id}/cancel", {"reason": "not now"})
    FlowJob.model_validate(answer.json())
    assert (answer.json()["state"], answer.json()["counts"]["cancelled"]) == ("CANCELLED", 2)
    assert {node["why"] for node in shown(client, flow_id)["nodes"]} == {"not now"}
    conflict = client.post(f"{FLOWS}/{flow_id}/cancel")
    assert (conflict.status_code, conflict.json()["state"]) == (409, "CANCELLED")
    stale = client.post(f"{FLOWS}/{flow_id}/resume", headers={"If-Match": '"1"'})
    assert (stale.status_code, stale.json()["code"]) == (412, "precondition_failed")
    clock.advance("1h")
    back = client.post(f"{FLOWS}/{flow_id}/resume", {"reason": "now"}).json()
    FlowJob.model_validate(back)
    assert (back["state"], back["counts"]["open"]) == ("ACTIVE", 2)
    assert shown(client, flow_id)["nodes"][0]["queued_at"] > ready_at, "ready anew, an hour later"
    drain(app)
    assert shown(client, flow_id)["state"] == "COMPLETED"
    for verb in ("resume", "cancel", "retry"):
        refused = client.post(f"{FLOWS}/{flow_id}/{verb}")
        assert (refused.status_code, refused.json()["code"]) == (409, "conflict_state"), verb


def test_a_flow_whose_nodes_all_run_is_asked_to_stop(app: Engine, client: Client) -> None:
    @app.task(lifecycle="workflow")
    def held(ctx: Context) -> None:
        while True:
            ctx.check()
            time.sleep(0.01)

    with working(app, concurrency=2):
        flows = [started(client, {"nodes": [{"name": "only", "task": "held"}]}, name)["id"] for name in ("a", "b")]
        until(lambda: all(shown(client, each)["nodes"][0]["state"] == "ACTIVE" for each in flows))
        for path in (f"{FLOWS}/{flows[0]}", f"/api/jobs/{flows[1]}"):
            answer = client.post(f"{path}/cancel", {"reason": "enough"})
            assert (answer.status_code, answer.json()["state"]) == (200, "ACTIVE"), "it ends with its last node"
        until(lambda: all(shown(client, each)["state"] == "CANCELLED" for each in flows))
    assert shown(client, flows[0])["nodes"][0]["why"] == "enough"


def test_what_was_removed_is_left_out(app: Engine, client: Client) -> None:
    flow_id = started(client, {"input": {"doc": "x"}})["id"]
    drain(app)
    nodes = by_title(shown(client, flow_id))
    assert client.delete(f"/api/jobs/{nodes['check']['job_id']}").status_code == 200
    left = shown(client, flow_id)
    assert {*by_title(left)} == {*nodes} - {"check"}
    assert nodes["check"]["job_id"] not in {end for edge in left["edges"] for end in (edge["from"], edge["to"])}
    assert "check" not in client.get(f"/api/jobs/{flow_id}/graph").json()["mermaid"]
    assert client.delete(f"/api/jobs/{flow_id}").status_code == 200
    assert client.get(f"{FLOWS}/{flow_id}").status_code == 404
    alone = client.get(f"/api/jobs/{nodes['pay']['job_id']}/graph").json()
    assert [node["id"] for node in alone["nodes"]] == [nodes["pay"]["job_id"]]
    assert client.get(f"/api/jobs/{nodes['review']['job_id']}/explain").status_code == 200


def test_retry_goes_on_with_what_failed(app: Engine, client: Client) -> None:
    old = started(client, {"input": {"doc": "line 2 is broken"}})["id"]
    drain(app)
    failed = shown(client, old)
    nodes = by_title(failed)
    assert (failed["state"], failed["error"]["code"]) == ("FAILED", "node_failed")
    assert nodes["line[1]"]["why"] == "ValueError: line 2 is smeared"
    assert nodes["total"]["why"] == "cancelled because line[1] failed (upstream_failed)"
    answer = client.post(f"{FLOWS}/{old}/retry", {"reason": "wiped"})
    new = answer.json()
    MadeFlow.model_validate(new)
    assert (answer.status_code, new["created"], new["retry_of"]) == (201, True, old)
    again = client.post(f"{FLOWS}/{old}/retry")
    assert (again.status_code, again.json()["id"], again.json()["created"]) == (200, new["id"], False)
    assert shown(client, old)["retried_as"] == new["id"]
    nodes = by_title(shown(client, new["id"]))
    assert {name: node["kept"] for name, node in nodes.items()} == {
        "line[0]": True,
        "line[1]": False,
        "total": False,
    }


def test_the_list_is_paged_and_filtered(app: Engine, client: Client) -> None:
    sums = [started(client, DAG, "sums")["id"] for _ in range(3)]
    invoice = started(client, {"input": {"doc": "x"}})["id"]
    client.post(f"{FLOWS}/{sums[0]}/cancel")
    page = client.get(f"{FLOWS}?limit=3").json()
    assert [flow["id"] for flow in page["items"]] == [invoice, sums[2], sums[1]]
    assert [flow["counts"]["nodes"] for flow in page["items"]] == [7, 2, 2]
    rest = client.get(f"{FLOWS}?limit=3&cursor={page['next_cursor']}").json()
    assert [flow["id"] for flow in rest["items"]] == [sums[0]]
    assert [flow["id"] for flow in client.get(f"{FLOWS}?name=sums&state=ACTIVE").json()["items"]] == sums[:0:-1]
    assert [flow["id"] for flow in client.get(f"{FLOWS}?state=CANCELLED").json()["items"]] == [sums[0]]
    assert client.get(f"{FLOWS}?sate=x").json()["code"] == "unknown_parameter"
    for query, field in (("state=asleep", "state"), ("name=", "name"), ("cursor=x", "cursor")):
        answer = client.get(f"{FLOWS}?{query}")
        assert (answer.status_code, answer.json()["field"]) == (400, field)


def test_the_graph_of_a_flow_and_of_a_node(app: Engine, client: Client) -> None:
    flow_id = started(client, {"input": {"doc": "x"}})["id"]
    drain(app)
    nodes = {node["name"]: node["job_id"] for node in shown(client, flow_id)["nodes"]}
    graph = client.get(f"/api/jobs/{flow_id}/graph").json()
    assert graph == client.get(f"/api/jobs/{nodes['pay']}/graph").json()
    kinds = {(edge["from"], edge["to"]): edge["kind"] for edge in graph["edges"]}
    assert kinds[nodes["check"], nodes["review"]] == "not_taken"
    assert kinds[nodes["check"], nodes["pay"]] == "after"
    assert '{"check<br/>succeeded"}' in graph["mermaid"]
    assert "each of fetch" in graph["mermaid"]
    assert graph["truncated"] is False
    alone = client.get(f"/api/jobs/{app.submit('double', {'n': 1}).id}/graph").json()
    assert (alone["mermaid"], [each["name"] for each in alone["nodes"]], alone["edges"]) == (None, [None], [])
