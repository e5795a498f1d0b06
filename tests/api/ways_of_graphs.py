"""What commands about flows and pipelines do, done with requests and nothing else. See test_as_cli."""

from __future__ import annotations

from tests.api.caller import HELD, Caller, Ways
from tests.working import until

GRAPHS = Ways()


@GRAPHS.way("pipeline run")
def pipeline_run(caller: Caller) -> str:
    run_id: str = caller.post("/pipeline/jobs", {"pipeline": "letters"}, 202)["job_id"]
    until(lambda: caller.state(run_id) == "COMPLETED")
    return run_id


@GRAPHS.way("pipeline list")
def pipeline_list(caller: Caller) -> None:
    run_id = pipeline_run(caller)
    assert run_id in [each["id"] for each in caller.get("/pipeline/jobs")["items"]]


@GRAPHS.way("pipeline show")
def pipeline_show(caller: Caller) -> None:
    [stage] = caller.get(f"/pipeline/jobs/{pipeline_run(caller)}")["stages"]
    assert stage["status"] == "completed"


@GRAPHS.way("pipeline watch")
def pipeline_watch(caller: Caller) -> None:
    told = caller.messages(f"/pipeline/jobs/{pipeline_run(caller)}/stream")
    assert told[-1][0] == "job_complete"


@GRAPHS.way("pipeline cancel")
def pipeline_cancel(caller: Caller) -> None:
    run_id = caller.post("/pipeline/jobs", {"pipeline": "endless"}, 202)["job_id"]
    assert caller.post(f"/pipeline/jobs/{run_id}/cancel")["cancelled"] is True


def started(caller: Caller, name: str = "invoice", **more: object) -> str:
    flow_id: str = caller.post(f"/flows/{name}", more, 201)["id"]
    return flow_id


@GRAPHS.way("flow run")
def flow_run(caller: Caller) -> str:
    flow_id = started(caller, key="one", delay="1s")
    assert caller.post("/flows/invoice", {"key": "one"})["created"] is False
    until(lambda: caller.state(flow_id) == "COMPLETED")
    return flow_id


@GRAPHS.way("flow list")
def flow_list(caller: Caller) -> None:
    flow_id = started(caller)
    assert flow_id in [flow["id"] for flow in caller.get("/flows", name="invoice")["items"]]


@GRAPHS.way("flow show")
def flow_show(caller: Caller) -> None:
    shown = caller.get(f"/flows/{started(caller)}")
    assert [node["name"] for node in shown["nodes"]] == ["read", "send"]


@GRAPHS.way("flow graph")
def flow_graph(caller: Caller) -> None:
    drawn = caller.get(f"/jobs/{started(caller)}/graph")
    names = {node["id"]: node["name"] for node in drawn["nodes"]}
    assert [(names[edge["from"]], names[edge["to"]]) for edge in drawn["edges"]] == [("read", "send")]


@GRAPHS.way("flow watch")
def flow_watch(caller: Caller) -> None:
    told = caller.messages(f"/jobs/{started(caller)}/stream")
    assert told[-1] == ("end", {"state": "COMPLETED", "canonical_state": "succeeded"})


@GRAPHS.way("flow cancel")
def flow_cancel(caller: Caller) -> str:
    flow_id = started(caller, queue=HELD)
    assert caller.post(f"/flows/{flow_id}/cancel", {"reason": "no use"})["state"] == "CANCELLED"
    return flow_id


@GRAPHS.way("flow resume")
def flow_resume(caller: Caller) -> None:
    flow_id = flow_cancel(caller)
    assert caller.post(f"/flows/{flow_id}/resume")["state"] == "ACTIVE"


@GRAPHS.way("flow retry")
def flow_retry(caller: Caller) -> None:
    failed = started(caller, "hopeless")
    until(lambda: caller.state(failed) == "FAILED")
    again = caller.post(f"/flows/{failed}/retry", status=201)
    assert again["id"] != failed
