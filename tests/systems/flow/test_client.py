"""`Engine("http://…")` and flows: submitted by name, followed, cancelled, resumed and retried over HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from holdfast import Engine, JobFailedError
from holdfast.api.app import create_app
from holdfast.kernel.errors import HoldfastError, NotAllowedError, NotFoundError
from holdfast.systems.flow.declare.flow import flows_of
from holdfast.tasks.signature import ArgumentsError
from holdfast.testing import drain
from tests.api.streaming import serving
from tests.systems.flow.invoices import declare


@pytest.fixture
def remote(app: Engine) -> Iterator[Engine]:
    declare(app)
    with serving(app, create_app(app._inside)) as served:
        engine = Engine(served.url)
        yield engine
        engine.close()


def test_a_flow_is_submitted_by_its_name_and_gives_its_result(app: Engine, remote: Engine) -> None:
    flow = remote.flow("invoice")  # a name alone
    handle = flow.options(key="2024-17", tags=("q1",), priority=3).submit(doc="2024-17")
    again = flow.options(key="2024-17").submit(doc="2024-17")
    assert (handle.created, again.created, again.id) == (True, False, handle.id)
    assert handle.state() == "ACTIVE"
    assert [node.state for node in handle.nodes()] == ["queued", *["waiting"] * 6]
    assert handle.show()["nodes"][1]["why"] == "waits for fetch (CREATED)"
    drain(app)
    assert handle.result(20) == {"close": "paid 3", "total": 30}
    assert handle.graph().by_name["close"].after == ("pay", "review")
    assert '{"check<br/>succeeded"}' in handle.mermaid()
    [pay] = [node for node in handle.nodes() if node.name == "pay"]
    assert app.get_job(pay.job_id).priority == 3


def test_cancel_resume_and_retry(app: Engine, remote: Engine) -> None:
    handle = remote.flow("invoice").submit(doc="line 2 is broken")
    assert handle.cancel("not now") == "CANCELLED"
    assert handle.resume("now") == "ACTIVE"
    with pytest.raises(NotAllowedError, match="is ACTIVE"):
        handle.retry()
    drain(app)
    with pytest.raises(JobFailedError, match="FAILED: node_failed: 1 of 9 nodes failed"):
        handle.result(20)
    new = handle.retry("wiped")
    assert (new.created, handle.retry().id, handle.retry().created) == (True, new.id, False)
    assert {(node.name, node.item) for node in new.nodes()} == {("line", 1), ("total", None)}


def test_what_is_wrong_is_an_error_of_the_same_kind(app: Engine, remote: Engine) -> None:
    by_name = remote.flow("invoice")
    declare(remote)
    for flow in (by_name, flows_of(remote._inside)["invoice"]):
        with pytest.raises(ArgumentsError, match="doc: Expected `str`"):
            flow.submit(doc=3)
        with pytest.raises(HoldfastError, match="cannot be sent to an API"):
            flow.options(connection=object()).submit(doc="x")
    assert flows_of(remote._inside)["invoice"].submit("x").state() == "ACTIVE"  # the first input, by its place
    with pytest.raises(ArgumentsError, match="not known here by their order"):
        by_name.submit("x")
    with pytest.raises(NotFoundError, match="no flow 'gone'"):
        remote.flow("gone").submit()
    assert len(app.list_jobs(task="invoice")) == 1
