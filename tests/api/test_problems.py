"""Refusals: every error has a problem, every problem a stable code, and none tells what is none of the client's."""

import ast
import json
import logging
import sqlite3
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

import pytest
from fastapi import HTTPException
from pydantic import BaseModel, ConfigDict

import holdfast
from holdfast.api.problems import page as problem_page
from holdfast.api.problems.handlers import problem_of
from holdfast.api.problems.kinds import BY_STATUS, KINDS, MEDIA_TYPE, PROBLEM_SCHEMA, Problem
from holdfast.kernel import errors as e
from holdfast.observe.traceparent import SpanPlace, parse
from tests.api.shell import Shell, let_in, shell_on

ROOT = Path(__file__).resolve().parents[2]


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Thing(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    mode: Literal["soft", "hard"] = "soft"
    sizes: list[int] = []


SECRET = "SELECT secret FROM /var/lib/holdfast.db"
RAISED: dict[str, Exception] = {
    "bug": RuntimeError(SECRET),
    "nested": KeyError(SECRET),
    "task": e.PermanentError(SECRET),
    "bare": HTTPException(500, SECRET),
}


@pytest.fixture
def shell(sqlite_url: str) -> Iterator[Shell]:
    with shell_on(sqlite_url) as made:

        @made.app.post("/api/things")
        async def things(body: Thing) -> str:
            return body.name

        @made.app.get("/api/colours")
        async def colours(colour: Colour, limit: int = 1) -> str:
            return colour

        @made.app.get("/api/raise/{name}")
        async def fail(name: str) -> str:
            raise RAISED[name]

        @made.app.get("/api/missing")
        async def missing() -> str:
            raise e.NotFoundError("job", "x", "see the list")

        let_in(made.app)
        yield made


MAPPED: list[tuple[Exception, int, str, str | None]] = [
    (e.PayloadError(field="payload.a", problem="is NaN", remedy="use null"), 422, "invalid_field", "payload.a"),
    (e.NotAllowedError("durable", "succeeded", "cancel", ()), 409, "conflict_state", "command"),
    (e.NotFoundError("job", "x"), 404, "not_found", "job"),
    (e.DuplicateKeyError("scope", "key", "id"), 409, "duplicate_key", "key"),
    (e.BusyError("it keeps moving"), 409, "conflict_state", None),
    (e.HoldfastError("its payload was purged", remedy="submit it anew"), 409, "conflict_state", None),
    (e.StoreError("cursor 'x'", field="cursor"), 400, "invalid_parameter", "cursor"),
    (e.StoreError("of a newer version"), 503, "unavailable", None),
    (e.StoreLostError("lost"), 503, "unavailable", None),
    (e.ValidationError("wrong"), 422, "invalid_field", None),
    (e.HoldfastError("delay is no duration", field="delay"), 422, "invalid_field", "delay"),
    (e.LifecycleError(lifecycle="x", rule="y"), 500, "internal_error", None),
    (e.TransientError("x"), 500, "internal_error", None),
    (e.PermanentError("x"), 500, "internal_error", None),
    (e.LeaseConflictError("x"), 500, "internal_error", None),
    (e.TaskError("x"), 500, "internal_error", None),
    (sqlite3.OperationalError("database is locked"), 503, "unavailable", None),
    (ConnectionRefusedError(), 503, "unavailable", None),
    (TimeoutError(), 503, "unavailable", None),
    (OverflowError("Python int too large"), 422, "invalid_field", None),
    (HTTPException(418, "teapot"), 418, "invalid_request", None),
    (HTTPException(409, "moved"), 409, "conflict_state", None),
    (ZeroDivisionError(), 500, "internal_error", None),
]


@pytest.mark.parametrize(("error", "status", "code", "field"), MAPPED, ids=lambda v: type(v).__name__)
def test_every_error_has_a_problem(error: Exception, status: int, code: str, field: str | None) -> None:
    problem = problem_of(error)
    assert (problem.status, problem.code, problem.field) == (status, code, field)
    assert problem.detail
    if status == 503:
        assert (problem.headers or {})["Retry-After"] == "1"


def test_the_whole_tree_of_errors_is_mapped() -> None:
    def below(kind: type[Exception]) -> set[type[Exception]]:
        return {kind}.union(*(below(sub) for sub in kind.__subclasses__()))

    ours = {kind for kind in below(e.HoldfastError) if kind.__module__ == e.__name__}
    assert ours == {type(error) for error, *_ in MAPPED if type(error).__module__ == e.__name__}


@pytest.mark.parametrize(
    ("state", "code"), [("08006", "unavailable"), ("57P01", "unavailable"), ("22003", "invalid_field")]
)
def test_what_postgres_says(state: str, code: str) -> None:
    class PostgresError(Exception):
        sqlstate = state

    assert problem_of(PostgresError(SECRET)).code == code
    assert SECRET not in json.dumps(problem_of(PostgresError(SECRET)).body())


def test_an_error_of_ours_tells_what_helps(shell: Shell) -> None:
    answer = shell.ask("GET", "/api/missing")
    assert answer.headers["content-type"] == MEDIA_TYPE
    shown = answer.json()
    assert shown.pop("correlation_id") == answer.headers["x-correlation-id"]
    assert shown == {
        "type": "/problems/not_found",
        "title": "There is no such thing",
        "status": 404,
        "detail": "no job 'x'; see the list",
        "code": "not_found",
        "field": "job",
        "what": "job",
        "name": "x",
        "remedy": "see the list",
    }


JSON = {"Content-Type": "application/json"}
REFUSED: list[tuple[dict[str, Any], int, str, str | None, list[str] | None]] = [
    ({"content": b"{", "headers": JSON}, 400, "invalid_body", None, None),
    ({"content": b'{"name": "\xff"}', "headers": JSON}, 400, "invalid_body", None, None),
    ({"content": b'{"name": 1' + b"0" * 9_000 + b"}", "headers": JSON}, 400, "invalid_body", None, None),
    ({"content": b"[]", "headers": JSON}, 400, "invalid_body", None, None),
    ({"content": b"null", "headers": JSON}, 400, "invalid_body", None, None),
    ({}, 400, "invalid_body", None, None),
    (
        {"content": b'{"name": "x"}', "headers": {"Content-Type": "text/plain"}},
        415,
        "unsupported_media_type",
        "Content-Type",
        None,
    ),
    ({"content": b'{"name": "x"}'}, 415, "unsupported_media_type", "Content-Type", None),
    ({"json": {}}, 422, "invalid_field", "name", None),
    ({"json": {"name": 7}}, 422, "invalid_field", "name", None),
    ({"json": {"name": "x", "mode": "gentle"}}, 422, "invalid_field", "mode", ["soft", "hard"]),
    ({"json": {"name": "x", "sizes": [1, 2, "many"]}}, 422, "invalid_field", "sizes[2]", None),
    ({"json": {"name": "x", "colour": "red"}}, 422, "invalid_field", "colour", None),
    ({"content": b'{"name": "x", "\\ud800": 1}', "headers": JSON}, 400, "invalid_body", None, None),
    ({"json": {"name": "x", "y" * 900: 1}}, 422, "invalid_field", "y" * 200, None),
]


@pytest.mark.parametrize(("sent", "status", "code", "field", "allowed"), REFUSED)
def test_a_wrong_body(
    shell: Shell, sent: dict[str, Any], status: int, code: str, field: str | None, allowed: list[str] | None
) -> None:
    answer = shell.ask("POST", "/api/things", **sent)
    shown = answer.json()
    assert (answer.status_code, shown["code"]) == (status, code)
    assert (shown.get("field"), shown.get("allowed")) == (field, allowed)
    assert answer.headers["content-type"] == MEDIA_TYPE


def test_all_that_is_wrong_at_once(shell: Shell) -> None:
    shown = shell.ask("POST", "/api/things", json={"mode": 1, "sizes": "x"}).json()
    assert [error["field"] for error in shown["errors"]] == ["name", "mode", "sizes"]


def test_a_wrong_parameter(shell: Shell) -> None:
    shown = shell.ask("GET", "/api/colours?colour=green").json()
    assert (shown["status"], shown["code"], shown["field"]) == (400, "invalid_parameter", "colour")
    assert shown["allowed"] == ["red", "blue"]
    assert shell.ask("GET", "/api/colours?colour=red&limit=x").json()["field"] == "limit"


def test_paths_and_methods_that_are_not_there(shell: Shell) -> None:
    for path in ("/", "/api", "/api/", "/api/nothing", "/healthz/", "/%00", "/api/things%2f"):
        answer = shell.ask("GET", path)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), path
    answer = shell.ask("DELETE", "/api/things")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert (answer.json()["code"], answer.json()["allowed"]) == ("method_not_allowed", ["POST"])


@pytest.mark.parametrize("name", RAISED)
def test_what_nobody_foresaw_is_logged_and_not_told(shell: Shell, name: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        answer = shell.ask("GET", f"/api/raise/{name}", headers={"X-Correlation-Id": "req-7"})
    assert answer.status_code == 500
    assert answer.json() == {
        "type": "/problems/internal_error",
        "title": "Something went wrong here",
        "status": 500,
        "detail": "A defect: the server's log has it by correlation_id.",
        "code": "internal_error",
        "correlation_id": "req-7",
    }
    assert answer.headers["x-content-type-options"] == "nosniff"
    [line] = [record for record in caplog.records if "request_failed" in record.getMessage()]
    assert "secret" in line.getMessage()
    assert "req-7" in line.getMessage()


def test_codes_are_those_of_the_table() -> None:
    used = {
        node.args[0].value
        for file in Path(holdfast.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Problem"
        if node.args and isinstance(node.args[0], ast.Constant)
    }
    assert len(used) > 10
    assert used - KINDS.keys() == set()
    assert set(BY_STATUS.values()) <= KINDS.keys()
    with pytest.raises(KeyError):
        Problem("no_such_code")


def test_the_table_makes_sense() -> None:
    for code, kind in KINDS.items():
        assert code == code.lower().replace("-", "_")
        assert 400 <= kind.status <= 599
        assert kind.title[-1] != "."
        assert kind.meaning.endswith(".")
    assert PROBLEM_SCHEMA["properties"]["code"]["enum"] == list(KINDS)


def test_the_page_of_problems_is_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    committed = (ROOT / problem_page.PAGE).read_text(encoding="utf-8")
    assert committed == problem_page.page(), "run `python -m holdfast.api.problems.page` and commit its page"
    monkeypatch.setattr("sys.argv", ["problem_page", str(tmp_path / "sub" / "page.md")])
    problem_page.main()
    assert (tmp_path / "sub" / "page.md").read_text(encoding="utf-8") == committed


def test_the_docs_page_needs_no_network(shell: Shell) -> None:
    answer = shell.ask("GET", "/api/docs")
    page = answer.text
    assert "<script" not in page
    assert "src=" not in page
    assert page.count("href=") == 1, "nothing but the document beside it"
    assert all(code in page for code in KINDS)
    assert "/api/things" in page
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "sha256-" in answer.headers["content-security-policy"]


@pytest.mark.slow
def test_the_document_says_how_it_refuses(shell: Shell) -> None:
    document = shell.ask("GET", "/api/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert document["components"]["schemas"]["Problem"] == PROBLEM_SCHEMA
    assert "HTTPValidationError" not in json.dumps(document)
    for path, operations in document["paths"].items():
        for operation in operations.values():
            told = {
                status for status, answer in operation["responses"].items() if MEDIA_TYPE in answer.get("content", {})
            }
            assert told == {str(KINDS[code].status) for code in operation["x-problems"]}, path
            assert "500" in told
    assert document["paths"]["/api/things"]["post"]["x-scope"] == "admin"
    assert "security" not in document["paths"]["/healthz"]["get"]


def test_headers_of_every_answer(shell: Shell) -> None:
    for method, path in (("GET", "/healthz"), ("GET", "/nothing"), ("GET", "/api/raise/bug"), ("PUT", "/healthz")):
        headers = shell.ask(method, path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert headers["x-correlation-id"]


def test_a_correlation_goes_through_or_is_made(shell: Shell) -> None:
    def told(**headers: str) -> str:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return str(shell.ask("GET", "/healthz", headers=sent).headers["x-correlation-id"])

    assert told(x_correlation_id="order-7:a/b") == "order-7:a/b"
    assert told(x_request_id="r-1") == "r-1"
    assert told(x_correlation_id="c-1", x_request_id="r-1") == "c-1"
    for unfit in ("", "a b", "x" * 129, "<script>", "-x"):
        assert told(x_correlation_id=unfit) not in (unfit, "")
    assert told() != told()


TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"


def test_a_trace_is_read_as_the_standard_says() -> None:
    assert parse(f"00-{TRACE}-{PARENT}-01") == SpanPlace(TRACE, PARENT, 1)
    assert parse(f" 00-{TRACE}-{PARENT}-00 ") == SpanPlace(TRACE, PARENT, 0)
    assert parse(f"cc-{TRACE}-{PARENT}-01-more") == SpanPlace(TRACE, PARENT, 1)
    for wrong in (
        None,
        "",
        "x",
        f"ff-{TRACE}-{PARENT}-01",
        f"00-{TRACE}-{PARENT}-01-more",
        f"00-{'0' * 32}-{PARENT}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{PARENT}-01",
        f"00-{TRACE[:-1]}-{PARENT}-01",
        f"00-{TRACE}-{PARENT}",
    ):
        assert parse(wrong) is None, wrong
