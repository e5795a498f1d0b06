"""One trace from a request over its job to the calls of the job's handler, with OpenTelemetry and without."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from starlette.responses import PlainTextResponse

from holdfast import Engine
from holdfast.api.app import create_app
from holdfast.api.tracing import Tracing
from holdfast.kernel.job import Spec
from holdfast.observe import tracing
from holdfast.observe.current import Current, current
from holdfast.observe.traceparent import SpanPlace, into_options, of_options, parse
from holdfast.testing import MovableClock, drain
from tests.observe import jobs
from tests.working import working

ROOT = Path(__file__).resolve().parents[2]
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SENT = f"00-{TRACE}-{SPAN}-01"


class Switch(trace.TracerProvider, trace.Tracer):
    """A process has one provider, for good: this one makes spans only while it is on, so that no other test has any."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self._tracers = (trace.NoOpTracer(), provider.get_tracer("test"))
        self.on = False

    def get_tracer(self, *_: Any, **__: Any) -> trace.Tracer:
        return self

    def start_span(self, *args: Any, **kwargs: Any) -> trace.Span:
        return self._tracers[self.on].start_span(*args, **kwargs)

    def start_as_current_span(self, *args: Any, **kwargs: Any) -> Any:
        return self._tracers[self.on].start_as_current_span(*args, **kwargs)


@pytest.fixture(scope="session")
def _switch() -> Switch:
    switch = Switch()
    trace.set_tracer_provider(switch)
    return switch


@pytest.fixture
def exporter(_switch: Switch) -> Iterator[InMemorySpanExporter]:
    _switch.exporter.clear()
    _switch.on = True
    yield _switch.exporter
    _switch.on = False


class Echo(BaseHTTPRequestHandler):
    """Another service: answers with the headers that it was sent."""

    def do_GET(self) -> None:
        body = json.dumps({name.lower(): value for name, value in self.headers.items()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


def post(app: Engine, body: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(app=create_app(app._inside))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:54322") as client:
            return await client.post("/api/jobs", json=body, headers=headers)

    answer = app._inside.portal.call(send())
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def by_name(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in exporter.get_finished_spans()}


def ids(span: ReadableSpan) -> tuple[str, str]:
    found = span.get_span_context()
    assert found is not None
    return trace.format_trace_id(found.trace_id), trace.format_span_id(found.span_id)


@pytest.mark.parametrize("task", ["call", "acall", pytest.param("pcall", marks=pytest.mark.slow)])
def test_one_trace_from_the_request_to_the_call(
    app: Engine, exporter: InMemorySpanExporter, service: str, task: str
) -> None:
    """The request, the submit, the job with its events, the run, and what another service gets from its handler."""
    with working(app):
        made = post(app, {"task": task, "args": {"url": service}}, {"traceparent": SENT, "X-Correlation-Id": "order-7"})
        called = app.get_job(made["id"])
        result = jobs_result(app, made["id"])
    served, sent, processed = (
        by_name(exporter)[name] for name in ("POST /api/jobs", f"send {task}", f"process {task}")
    )
    assert [span.kind for span in (served, sent, processed)] == [SpanKind.SERVER, SpanKind.PRODUCER, SpanKind.CONSUMER]
    assert {ids(span)[0] for span in (served, sent, processed)} == {TRACE}
    assert (_parent(served), _parent(processed)) == (SPAN, ids(sent)[1])
    assert ids(served)[1] in above(exporter, sent)
    assert [trace.format_span_id(link.context.span_id) for link in processed.links] == [ids(sent)[1]]
    assert result["traceparent"] == str(SpanPlace(*ids(processed)))
    assert result["x-correlation-id"] == "order-7"
    assert (called.trace_id, called.correlation_id) == (TRACE, "order-7")
    events = app._inside.portal.call(_events(app, made["id"]))
    assert {(event.trace_id, event.correlation_id) for event in events} == {(TRACE, "order-7")}
    assert len(events) == 4
    about = dict(processed.attributes or {})
    assert (about["messaging.message.id"], about["holdfast.attempt"]) == (made["id"], 1)


def above(exporter: InMemorySpanExporter, span: ReadableSpan) -> list[str]:
    """The spans that one stands below: a framework may have some of its own in between."""
    parents = {ids(each)[1]: _parent(each) for each in exporter.get_finished_spans()}
    found, here = [], _parent(span)
    while here is not None:
        found.append(here)
        here = parents.get(here)
    return found


def jobs_result(app: Engine, job_id: str) -> dict[str, str]:
    from holdfast.runtime.handle import JobHandle

    result: dict[str, str] = JobHandle(app._inside, job_id).result(30)
    return result


def _parent(span: ReadableSpan) -> str | None:
    return None if span.parent is None else trace.format_span_id(span.parent.span_id)


async def _events(app: Engine, job_id: str) -> list[Any]:
    return list(await (await app._inside.opened()).reads.events(job_id))


def test_every_attempt_is_a_span_and_says_how_it_failed(app: Engine, exporter: InMemorySpanExporter) -> None:
    with working(app):
        job = app.submit("fail", {"code": "no_luck"})
        job.wait(30)
    [sent] = [span for span in exporter.get_finished_spans() if span.name == "send fail"]
    runs = [span for span in exporter.get_finished_spans() if span.name == "process fail"]
    assert [dict(span.attributes or {})["holdfast.attempt"] for span in runs] == [1, 2]
    assert {span.status.status_code for span in runs} == {StatusCode.ERROR}
    assert {dict(span.attributes or {})["error.type"] for span in runs} == {"no_luck"}
    assert {_parent(span) for span in runs} == {ids(sent)[1]}
    assert job.job().trace_id == ids(sent)[0], "a submit outside of any trace begins one"


@pytest.mark.slow
def test_what_a_handler_submits_is_part_of_its_trace(app: Engine, exporter: InMemorySpanExporter) -> None:
    @app.task
    def parent() -> str:
        return app.submit("call", {"url": ""}).id

    with working(app):
        job = parent.submit()
        child = job.result(30)
        jobs_result(app, child)
    spans = by_name(exporter)
    assert _parent(spans["send call"]) == ids(spans["process parent"])[1]
    assert _parent(spans["process call"]) == ids(spans["send call"])[1]
    rows = job.job(), app.get_job(child)
    assert {row.trace_id for row in rows} == {ids(spans["send parent"])[0]}
    assert rows[1].correlation_id == job.id


def test_a_batch_is_one_send(app: Engine, exporter: InMemorySpanExporter) -> None:
    @app.task
    def many(n: int) -> None: ...

    many.submit_many([(n,) for n in range(3)])
    [sent] = exporter.get_finished_spans()
    assert (sent.name, dict(sent.attributes or {})["messaging.batch.message_count"]) == ("send many", 3)
    assert {job.trace_id for job in app.list_jobs()} == {ids(sent)[0]}


def test_a_job_that_only_knows_its_trace_runs_in_it(app: Engine, exporter: InMemorySpanExporter) -> None:
    with working(app):
        job = app.submit("call", {"url": ""}, trace_id=TRACE)
        assert parse(job.result(30)["traceparent"]) is not None
    assert ids(by_name(exporter)["process call"])[0] == TRACE
    assert ids(by_name(exporter)["send call"])[0] != TRACE


@pytest.mark.rule("D24")
@pytest.mark.parametrize("task", ["call", "acall", pytest.param("pcall", marks=pytest.mark.slow)])
def test_from_the_schedule_into_the_call(tmp_path: Path, service: str, task: str) -> None:
    """A tick gives its job a trace and a correlation; both reach the events, and what the handler calls."""
    app = jobs.app_on(f"sqlite:///{tmp_path}/jobs.db", MovableClock())
    app.schedule("hourly", task, cron="0 * * * *", args={"url": service})
    drain(app, move_clock="1h")
    [job] = app.list_jobs()
    assert (job.trace_id, job.correlation_id) != (None, None)
    called = jobs_result(app, job.id)
    place = parse(called["traceparent"])
    assert place is not None
    assert (place.trace_id, called["x-correlation-id"]) == (job.trace_id, job.correlation_id)
    events = app._inside.portal.call(_events(app, job.id))
    assert {(event.trace_id, event.correlation_id) for event in events} == {(job.trace_id, job.correlation_id)}
    app.close()


def test_no_span_is_made_of_questions_by_machines(app: Engine, exporter: InMemorySpanExporter) -> None:
    async def ask() -> list[int]:
        transport = httpx.ASGITransport(app=create_app(app._inside))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:54322") as client:
            return [(await client.get(path)).status_code for path in ("/healthz", "/readyz", "/metrics", "/api/none")]

    assert app._inside.portal.call(ask()) == [200, 200, 200, 404]
    assert {dict(span.attributes or {}).get("url.path") for span in exporter.get_finished_spans()} == {"/api/none"}


@pytest.mark.parametrize(("status", "code"), [(201, StatusCode.UNSET), (503, StatusCode.ERROR)])
async def test_a_span_for_servers_that_make_none(exporter: InMemorySpanExporter, status: int, code: StatusCode) -> None:
    seen: list[Current | None] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        seen.append(current.get())
        scope["state"]["template"] = "/jobs/{id}"
        await PlainTextResponse("x", status)(scope, receive, send)

    async def correlated(scope: Any, receive: Any, send: Any) -> None:
        scope["state"] = {"correlation_id": "order-7"}
        await Tracing(inner)(scope, receive, send)

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=correlated), base_url="http://x") as client:
        await client.get("/jobs/7", headers={"traceparent": SENT})
    [span] = exporter.get_finished_spans()
    assert (span.name, span.kind, span.status.status_code) == ("GET /jobs/{id}", SpanKind.SERVER, code)
    assert (ids(span)[0], _parent(span)) == (TRACE, SPAN)
    assert seen == [Current(TRACE, str(SpanPlace(*ids(span))), "order-7")]
    assert current.get() is None


WITHOUT = """
import json, sys
from holdfast.observe import tracing
from tests.observe.jobs import app_on
from tests.working import working

def run(task, **options):
    return app.submit(task, {"url": ""}, **options).result(30)

app = app_on(sys.argv[1])
with working(app):
    found = [run(task, trace_id="ab" * 16, correlation_id="order 7 ü") for task in ("call", "acall")]
    plain = run("call")
app.close()
assert tracing.headers() == {}
print(json.dumps([found, plain, [name for name in sys.modules if name.startswith("opentelemetry")]]))
"""
OVER_HTTP = """
import json, sys
from tests.observe.jobs import app_on
from tests.observe.test_tracing import SENT, jobs_result, post
from tests.working import working

app = app_on(sys.argv[1])
body = {"task": "call", "args": {"url": ""}}
with working(app):
    made = [post(app, body, {"traceparent": header})["id"] for header in (SENT, "00-nonsense")]
    print(json.dumps([[app.get_job(job_id).trace_id, jobs_result(app, job_id)] for job_id in made]))
app.close()
"""


def alone(script: str, tmp_path: Path) -> Any:
    """What a script prints in a process where nobody has set up OpenTelemetry."""
    done = subprocess.run(
        [sys.executable, "-c", script, f"sqlite:///{tmp_path}/jobs.db"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_without_opentelemetry_the_ids_go_along(tmp_path: Path) -> None:
    found, plain, loaded = alone(WITHOUT, tmp_path)
    assert loaded == [], "it is not imported by us"
    for headers in found:
        place = parse(headers["traceparent"])
        assert place is not None
        assert place.trace_id == "ab" * 16
        assert headers["X-Correlation-Id"] == "order 7 %C3%BC"
    assert set(plain) == {"X-Correlation-Id"}, "a job without a trace belongs to its own correlation alone"


@pytest.mark.slow
def test_a_request_hands_its_caller_on_where_no_span_is_made(tmp_path: Path) -> None:
    [traced, bare] = alone(OVER_HTTP, tmp_path)
    assert (traced[0], traced[1]["traceparent"]) == (TRACE, SENT)
    assert (bare[0], set(bare[1])) == (None, {"X-Correlation-Id"})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "00",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        SENT + "\n",
        SENT.upper(),
    ],
)
def test_a_header_that_is_malformed_is_passed_over(text: str) -> None:
    assert parse(text) is None


def test_options_keep_the_sender() -> None:
    place = SpanPlace(TRACE, SPAN, 0)
    options = into_options('{"timeout_ms":5}', place)
    assert json.loads(options) == {"timeout_ms": 5, "traceparent": f"00-{TRACE}-{SPAN}-00"}
    assert of_options(options, TRACE) == place
    assert of_options(options, "ab" * 16) is None, "a job that was replayed has a trace of its own"
    assert of_options(None, TRACE) is None


def test_nothing_is_done_where_there_is_nothing_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "spans", lambda: None)
    specs = [Spec("1", "durable", "add")]
    with tracing.send(specs) as sent:
        assert sent is specs
    token = current.set(Current(TRACE, SENT))
    try:
        with tracing.send(specs) as sent:
            assert (sent[0].trace_id, of_options(sent[0].options, TRACE)) == (TRACE, parse(SENT))
        with tracing.send([specs[0]._replace(trace_id="own")]) as sent:
            assert (sent[0].trace_id, sent[0].options) == ("own", None)
    finally:
        current.reset(token)
