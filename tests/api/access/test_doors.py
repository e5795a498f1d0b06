"""Who is let in: hosts, origins, keys and scopes. Every route says what it needs, and is held to it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import WebSocket
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as AsgiScope

from holdfast.api.access.admission import RequestAdmission
from holdfast.api.access.scopes import UNDECLARED, RouteMap, bare
from holdfast.api.headers import AnswerHeaders
from holdfast.api.problems.handlers import LastResort
from holdfast.api.settings import ApiSettings, is_loopback
from holdfast.config import ConfigError
from tests.api.shell import OPEN_TO_ALL, Shell, let_in, nothing, shell_on

ENOUGH = {"read": ["read", "write", "admin"], "write": ["write", "admin"], "admin": ["admin"]}


@pytest.fixture
def shell(sqlite_url: str) -> Iterator[Shell]:
    with shell_on(sqlite_url) as made:
        yield made


@pytest.fixture
def guarded(sqlite_url: str) -> Iterator[Shell]:
    with shell_on(sqlite_url, ApiSettings(host=OPEN_TO_ALL, rate=0)) as made:
        yield made


def doors_alone(shell: Shell) -> ASGIApp:
    """The doors before nothing: whether a request is let in, without what its route would do."""
    inner = AnswerHeaders(
        LastResort(
            RequestAdmission(
                nothing, engine=shell.engine._inside, settings=shell.settings, routes=shell.app.state.route_map
            )
        )
    )

    async def app(scope: AsgiScope, receive: Receive, send: Send) -> None:
        scope["app"] = shell.app
        await inner(scope, receive, send)

    return app


def test_every_route_says_which_scope_it_needs(shell: Shell) -> None:
    routes = RouteMap(shell.app.routes)
    silent = [(method, path) for method, path, access in routes.entries() if access is UNDECLARED]
    assert silent == [], "declare it beside the path: @needs(Scope.READ)"
    shell.app.add_api_route("/api/forgotten", lambda: "here", methods=["GET"])
    routes.learn(shell.app.routes)
    assert routes.access("GET", "/api/forgotten") is UNDECLARED, "the check sees what it looks for"


def test_a_path_has_one_template_and_one_that_is_spelled_out_its_own_methods(shell: Shell) -> None:
    paths = list(shell.ask("GET", "/api/openapi.json").json()["paths"])
    assert len({bare(path) for path in paths}) == len(paths), "the same path under two names"
    assert shell.ask("PUT", "/api/jobs/batch").headers["allow"] == "POST"
    assert shell.ask("PUT", "/api/jobs/x").headers["allow"] == "DELETE, GET"


def test_route_by_scope(guarded: Shell) -> None:
    keys: dict[str | None, str | None] = {None: None}
    keys |= {scope: guarded.key(scope).token for scope in ENOUGH}
    through = doors_alone(guarded)
    wrong = []
    for method, template, access in sorted(RouteMap(guarded.app.routes).entries()):
        needed = access.scope
        path = re.sub(r"\{[^}]*\}", "x", template)
        for holder, key in keys.items():
            if needed is None or (holder is not None and holder in ENOUGH[needed]):
                expected = 204
            else:
                expected = 401 if holder is None else 403
            answer = guarded.ask(method, path, key=key, through=through, base="http://anything")
            if answer.status_code != expected:
                wrong.append((method, template, holder, answer.status_code, expected))
            if expected == 403:
                assert answer.json()["allowed"] == ENOUGH[str(needed)]
            if expected in (401, 403):
                assert answer.headers["www-authenticate"].startswith("Bearer")
    assert wrong == []


def test_a_route_that_nobody_listed_is_for_admins(guarded: Shell) -> None:
    guarded.app.add_api_route("/api/forgotten", lambda: "here", methods=["GET"])
    let_in(guarded.app)
    assert guarded.ask("GET", "/api/forgotten", key=guarded.key("write").token).status_code == 403
    assert guarded.ask("GET", "/api/forgotten", key=guarded.key("admin").token).status_code == 200


def test_what_the_doors_do_not_know_is_not_served(shell: Shell) -> None:
    assert shell.ask("GET", "/healthz").status_code == 200
    shell.app.add_api_route("/api/late", lambda: "here", methods=["GET"])
    assert shell.ask("GET", "/api/late").status_code == 404


def test_mounted_files_have_a_door_too(guarded: Shell, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    guarded.app.mount("/files", StaticFiles(directory=tmp_path))
    let_in(guarded.app)
    assert guarded.ask("GET", "/files/a.txt").status_code == 401
    assert guarded.ask("GET", "/files/a.txt", key=guarded.key("write").token).status_code == 403
    assert guarded.ask("GET", "/files/a.txt", key=guarded.key("admin").token).text == "a"


def test_without_a_key_one_does_not_even_learn_what_is_there(guarded: Shell) -> None:
    assert guarded.ask("GET", "/api/nothing").status_code == 401
    assert guarded.ask("GET", "/api/nothing", key=guarded.key().token).status_code == 404
    assert guarded.ask("GET", "/healthz").status_code == 200


@pytest.mark.slow
def test_on_loopback_no_key_is_needed_but_a_bad_one_is_refused(shell: Shell) -> None:
    shell.app.add_api_route("/api/forgotten", lambda: "here", methods=["GET"])
    let_in(shell.app)
    assert shell.ask("GET", "/api/docs").status_code == 200
    for key in ("", "x", "hf_000000000000_" + "A" * 43):
        answer = shell.ask("GET", "/api/docs", key=key)
        assert answer.status_code == 401, key
        assert answer.json()["code"] == "unauthorized"
        assert 'error="invalid_token"' in answer.headers["www-authenticate"]
    assert shell.ask("GET", "/healthz", headers={"Authorization": "Basic eDp5"}).status_code == 401
    # One that is good counts: on loopback too, a small key is a small key.
    assert shell.ask("GET", "/api/forgotten", key=shell.key("read").token).status_code == 403


@pytest.mark.parametrize("host", ["127.0.0.1:54322", "localhost", "LOCALHOST:1", "[::1]:54322"])
def test_our_own_hosts(shell: Shell, host: str) -> None:
    assert shell.ask("GET", "/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil", "", "[::2]", "0.0.0.0"])
def test_a_name_that_only_means_this_machine_is_refused(shell: Shell, host: str) -> None:
    answer = shell.ask("GET", "/healthz", headers={"Host": host})
    assert (answer.status_code, answer.json()["code"]) == (421, "misdirected")


def test_two_hosts_in_one_request(shell: Shell) -> None:
    twice = [("Host", "127.0.0.1"), ("Host", "evil.example")]
    assert shell.ask("GET", "/healthz", headers=twice).json()["code"] == "invalid_request"


FOREIGN: list[dict[str, str]] = [
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:8000"},
    {"Origin": "http://127.0.0.1:54322.evil.example"},
    {"Origin": ""},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
]
OWN: list[dict[str, str]] = [
    {},
    {"Origin": "http://127.0.0.1:54322"},
    {"Origin": "http://127.0.0.1:54322", "Sec-Fetch-Site": "same-origin"},
    {"Sec-Fetch-Site": "none"},
]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_a_change_from_another_page(shell: Shell, method: str) -> None:
    shell.app.add_api_route("/api/change", lambda: "done", methods=[method])
    let_in(shell.app)
    for headers in FOREIGN:
        answer = shell.ask(method, "/api/change", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden_origin"), headers
        assert "access-control-allow-origin" not in answer.headers
    for headers in OWN:
        assert shell.ask(method, "/api/change", headers=headers).status_code == 200, headers


def test_cors_is_off(shell: Shell) -> None:
    asked = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    answer = shell.ask("OPTIONS", "/api/jobs", headers=asked)
    assert answer.status_code in (404, 405)
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Mode": "navigate"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "http://127.0.0.1:54322"},
        {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"},
        {
            "Accept": "image/avif,image/webp,*/*",
            "User-Agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0",
        },
    ],
)
def test_a_get_that_changes_something_is_not_for_browsers(shell: Shell, headers: dict[str, str]) -> None:
    shell.app.add_api_route("/api/jobs/{id}/stop", lambda: "stopped", methods=["GET"])
    through = doors_alone(shell)
    answer = shell.ask("GET", "/api/jobs/x/stop", headers=headers, through=through)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert shell.ask("GET", "/api/jobs/x/stop", through=through).status_code == 204
    assert shell.ask("GET", "/api/docs", headers=headers, through=through).status_code == 204


def test_there_are_no_websockets(guarded: Shell) -> None:
    @guarded.app.websocket("/api/socket")
    async def socket(socket: WebSocket) -> None:
        await socket.accept()

    sent: list[Any] = []

    async def connect() -> None:
        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> Any:
            return {"type": "websocket.connect"}

        await guarded.app({"type": "websocket", "path": "/api/socket", "headers": []}, receive, send)

    guarded.engine._inside.portal.call(connect())
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_the_application_stands_behind_its_doors(shell: Shell) -> None:
    order: list[object] = [middleware.cls for middleware in shell.app.user_middleware]
    # Headers on whatever is answered; nothing between the doors and what answers for their failure.
    assert order[0] is AnswerHeaders
    assert order[-2:] == [LastResort, RequestAdmission]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost", "LocalHost"])
def test_loopback_needs_no_key(host: str) -> None:
    assert is_loopback(host)
    assert not ApiSettings(host=host).require_key
    assert host.lower() in (ApiSettings(host=host).known_hosts or ())


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "10.0.0.1", "example.org", "", "::ffff:7f00:1"])
def test_anything_else_does(host: str) -> None:
    assert ApiSettings(host=host).require_key


def test_a_name_from_elsewhere_makes_keys_necessary() -> None:
    behind_a_proxy = ApiSettings(hosts=("jobs.example.org",))
    assert behind_a_proxy.require_key
    assert "jobs.example.org" in (behind_a_proxy.known_hosts or ())
    assert not ApiSettings(hosts=("localhost",)).require_key


@pytest.mark.parametrize("wrong", [{"port": 70_000}, {"body_limit": 0}, {"rate": -1}, {"max_streams": 0}])
def test_settings_that_make_no_sense(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError) as refused:
        ApiSettings(**wrong)  # type: ignore[arg-type] # that is the point
    assert refused.value.field in wrong
