"""Requests made up from the OpenAPI document, sent to an engine's API without a socket, and every answer held to it.

A run is decided by its seed: the same requests in the same order. Ids differ from run to run, so a case takes the one
at a place in a list of jobs that is always made alike.
"""

from __future__ import annotations

import asyncio
import io
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes, urlsplit

import requests
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisException
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict
from schemathesis import Case, GenerationMode
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.meta import ComponentInfo, FuzzingPhaseData
from schemathesis.schemas import APIOperation
from starlette.types import Message
from urllib3 import HTTPHeaderDict, HTTPResponse

from holdfast import Engine

BASE = "http://127.0.0.1:54322"
ANSWER_S = 20.0
PLAIN = 4
"""Cases with nothing in them that could be left out, for an operation that was never answered well."""
STREAMS = "/(events|stream)$"
"""Without an end: tests of their own follow them. What comes before the first byte is fuzzed in test_fuzz too."""

CHECKS = (  # the last for cases alone that have something wrong with them
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
)
Names = Mapping[str, Sequence[str] | Callable[[], str]]
"""For a parameter of a path, values that exist, or how to make one that does.

Looked for under the operation, such as `POST /jobs/{id}/cancel`, then as `/jobs/{id}`, then as `{id}`.
"""


class Finding(NamedTuple):
    """An answer that is not what the document says, and how to get it again."""

    operation: str
    number: int
    said: str


class Run(NamedTuple):
    """What was sent, how it was answered, and what was wrong about that."""

    statuses: Counter[tuple[str, int]]
    findings: list[Finding]

    @property
    def sent(self) -> int:
        return self.statuses.total()

    def is_good(self, operation: str) -> bool:
        """Whether one of its requests was answered well."""
        return any(status < 300 for asked, status in self.statuses if asked == operation)

    def told(self, seed: int) -> str:
        first = "\n\n".join(f"{each.operation} #{each.number}\n{each.said}" for each in self.findings[:5])
        return (
            f"{len(self.findings)} of {self.sent} answers are wrong; HOLDFAST_FUZZ_SEED={seed} replays them\n\n{first}"
        )


class InProcess(BaseAdapter):
    """Carries a prepared request to an application in the engine's own loop, to the byte, and its answer back."""

    def __init__(self, engine: Engine, app: FastAPI) -> None:
        super().__init__()
        self._engine, self._app = engine, app

    def send(self, request: requests.PreparedRequest, **_: Any) -> requests.Response:  # type: ignore[override]
        status, headers, body = self._engine._inside.portal.call(self._asked(request), ANSWER_S + 5)
        answer = requests.Response()
        answer.status_code, answer.url, answer.request = status, request.url or "", request
        answer.headers = CaseInsensitiveDict(headers)
        raw = HTTPHeaderDict(headers)
        answer.raw = HTTPResponse(io.BytesIO(body), headers=raw, status=status, preload_content=False)
        answer.reason = ""
        return answer

    async def _asked(self, request: requests.PreparedRequest) -> tuple[int, list[tuple[str, str]], bytes]:
        parts = urlsplit(request.url or "")
        given = request.body or b""
        body = given.encode() if isinstance(given, str) else given
        assert isinstance(body, bytes)
        sent = [(_bytes(name).lower(), _bytes(value)) for name, value in request.headers.items()]
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": "http",
            "path": unquote_to_bytes(parts.path).decode("utf-8", "replace"),
            "raw_path": parts.path.encode(),
            "root_path": "",
            "query_string": parts.query.encode(),
            "headers": [(b"host", parts.netloc.encode()), *((name, value) for name, value in sent if name != b"host")],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 54322),
            "state": {},
        }
        messages: list[Message] = []
        to_come = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Message:
            return to_come.pop() if to_come else {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            messages.append(message)

        async with asyncio.timeout(ANSWER_S):
            await self._app(scope, receive, send)
        start, *rest = messages
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in start["headers"]]
        return start["status"], headers, b"".join(message.get("body", b"") for message in rest)

    def close(self) -> None:
        """Nothing is open."""


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("latin-1", "replace")


class Luck(NamedTuple):
    """What is drawn once for a case, so that it is the same case wherever it is sent."""

    is_named: bool
    nth: int
    is_sharp: bool


class Side(NamedTuple):
    """An engine's application that is asked, with a key of its own, and the names of what it has."""

    engine: Engine
    app: FastAPI
    key: str
    names: Names

    def name(self, case: Case, luck: Luck) -> None:
        """Names of things that exist, in the place of made-up ones."""
        for place, name in enumerate(list(case.path_parameters)):
            head = case.path.partition(f"{{{name}}}")[0]
            keys = [*([case.operation.label] if place == 0 else []), f"{head}{{{name}}}", f"{{{name}}}"]
            known = next((self.names[key] for key in keys if key in self.names), None)
            if known:
                case.path_parameters[name] = known() if callable(known) else known[luck.nth % len(known)]


Asked = Sequence[tuple[Side, requests.Session]]
Sharpen = Callable[[Case, Side], None]
"""Makes a case that the document allows into one that reaches further: a task that is declared, a letter that waits."""


class Fuzz:
    """All operations of a document, asked of several sides: each case is made up once and sent to all of them."""

    def __init__(self, document: dict[str, Any], sharpen: Sharpen) -> None:
        self._sharpen = sharpen
        schema = schemathesis.openapi.from_dict(document).exclude(path_regex=STREAMS)
        found: list[Any] = [each.ok() for each in schema.get_all_operations()]  # type: ignore[union-attr]
        # Where nothing can be varied there is one case: what is left of those is for the others.
        self.operations = sorted(found, key=lambda each: bool(each.path_parameters or _modes(each)[1:]))
        schemathesis.checks.load_all_checks()
        registry = schemathesis.checks.CHECKS
        self._checks: list[Any] = registry.get_by_names(list(CHECKS))

    def run(self, sides: Sequence[Side], cases: int, seed_: int) -> Run:
        """So many cases, as many for each operation, each sent to every side."""
        run = Run(Counter(), [])
        asked = [(side, _session(side)) for side in sides]
        for place, operation in enumerate(self.operations):
            wanted = (cases - run.sent // len(sides)) // (len(self.operations) - place)
            self._ask(asked, operation, max(1, wanted), seed_ + place, run)
            # That one is answered well is not left to chance, but for those who may not ask.
            if not run.is_good(operation.label) and (operation.label, 403) not in run.statuses:
                self._ask(asked, operation, PLAIN, seed_ + place, run, is_plain=True)
        return run

    def _ask(
        self, asked: Asked, operation: APIOperation, count: int, seed_: int, run: Run, *, is_plain: bool = False
    ) -> None:
        modes = _modes(operation)

        @seed(seed_)
        @settings(
            max_examples=count,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.quiet,
        )
        @given(data=st.data())
        def ask(data: st.DataObject) -> None:
            mode = modes[0] if is_plain else data.draw(st.sampled_from(modes))
            case = data.draw(operation.as_strategy(mode))
            named, nth, sharp = (data.draw(st.integers(0, most)) for most in (3, 1_000, 3))
            luck = Luck(is_plain or named > 0, nth, is_plain or sharp > 0)
            if is_plain:
                case.query, case.headers = {}, CaseInsensitiveDict()
            # A wrong path is all that may be wrong with a case: a good one would make it a case that must be accepted.
            is_bad_path = any(at == "path" and each.mode is not modes[0] for at, each in _components(case))
            path, headers, body = copy(case.path_parameters), copy(case.headers), case.body
            for side, session in asked:
                case.path_parameters, case.headers, case.body = copy(path), copy(headers), body
                if luck.is_named and not is_bad_path:
                    side.name(case, luck)
                if luck.is_sharp and mode is GenerationMode.POSITIVE:
                    self._sharpen(case, side)
                self._judge(case, side, session, run)

        with suppress(HypothesisException):  # no more cases of this kind can be made up
            ask()

    def _judge(self, case: Case, side: Side, session: requests.Session, run: Run) -> None:
        label = case.operation.label
        answer = case.call(base_url=BASE, session=session, headers={"Authorization": f"Bearer {side.key}"})
        run.statuses[label, answer.status_code] += 1
        try:
            case.validate_response(answer, checks=self._checks[:-1] if _is_good(case) else self._checks)
        except AssertionError as wrong:
            run.findings.append(Finding(label, run.sent, str(wrong)))
        except BaseExceptionGroup as wrong:
            run.findings.append(Finding(label, run.sent, str(wrong)))


def _is_good(case: Case) -> bool:
    """Whether nothing is wrong with a case, although something should be: no body at all is a body that is allowed."""
    data = case.meta.phase.data if case.meta else None
    return isinstance(data, FuzzingPhaseData) and data.description == "Positive test case"


def _components(case: Case) -> list[tuple[ParameterLocation, ComponentInfo]]:
    return list(case.meta.components.items()) if case.meta else []


def _modes(operation: APIOperation) -> list[GenerationMode]:
    more = [GenerationMode.NEGATIVE] if operation.body or operation.query or operation.headers else []
    return [GenerationMode.POSITIVE, *more]


def _session(side: Side) -> requests.Session:
    session = requests.Session()
    session.trust_env = False
    session.mount(BASE, InProcess(side.engine, side.app))
    return session
