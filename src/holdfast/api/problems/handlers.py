"""From what was raised to the problem that is answered. What nobody foresaw is logged, and told without its insides."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as BareHTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.api.problems.kinds import BY_STATUS, KINDS, Problem, about_of, refusal, unavailable
from holdfast.kernel.errors import (
    BusyError,
    DuplicateKeyError,
    HoldfastError,
    LifecycleError,
    NotAllowedError,
    NotFoundError,
    PayloadError,
    StoreError,
    StoreLostError,
    TaskError,
    ValidationError,
)
from holdfast.observe.logs import get_logger

AWAY = frozenset({"08", "28", "3D", "53", "57"})
"""Classes of SQLSTATE that mean: not now. Connection, rights to it, no such database, resources, shutdown."""

BARE = {
    "not_found": "nothing is served at this path; /api/docs lists what is",
    "method_not_allowed": "this path takes other methods",
}
"""Words for what the router refuses by itself."""

log = get_logger("holdfast.api")


def problem_of(error: Exception) -> Problem:
    """The problem that answers for an error; `internal_error` for what nobody foresaw."""
    match error:
        case Problem():
            return error
        case RequestValidationError():
            return _of_validation(error)
        case BareHTTPException():
            return _of_status(error)
        case NotFoundError(what=what):
            return refusal("not_found", error, field=what)
        case NotAllowedError(allowed=allowed):
            return Problem("conflict_state", str(error), field="command", allowed=allowed, about=about_of(error))
        case DuplicateKeyError():
            return refusal("duplicate_key", error)
        case StoreLostError():
            return unavailable("the connection to the database was lost during this request")
        case StoreError(field="cursor"):
            return refusal("invalid_parameter", error)
        case PayloadError():
            return refusal("invalid_field", error)
        case StoreError():
            return unavailable("the database cannot be used as it is")
        case ValidationError() | HoldfastError(field=str()):
            return refusal("invalid_field", error)
        case BusyError():
            return Problem("conflict_state", str(error), about=about_of(error), headers={"Retry-After": "1"})
        case TaskError() | LifecycleError():
            return Problem("internal_error")
        case HoldfastError():
            return refusal("conflict_state", error)
        case _:
            return _of_database(error) or Problem("internal_error")


def _of_status(error: BareHTTPException) -> Problem:
    if error.status_code == 400 and isinstance(error.__cause__, ValueError):
        return Problem(
            "invalid_body", "it is no JSON, or not in UTF-8"
        )  # the framework's word for a body it cannot parse
    code = BY_STATUS.get(error.status_code, "invalid_request" if error.status_code < 500 else "internal_error")
    headers = dict(error.headers or {})
    allowed = [method.strip() for method in headers.get("Allow", "").split(",")] if "Allow" in headers else None
    detail = str(error.detail)
    if code == "internal_error":
        detail = ""
    elif detail == HTTPStatus(error.status_code).phrase:
        detail = BARE.get(code, "")
    return Problem(code, detail, allowed=allowed, headers=headers, status=error.status_code)


def _of_validation(error: RequestValidationError) -> Problem:
    found = error.errors()
    for one in found:
        place = one["loc"][0] if one["loc"] else "body"
        if one["type"] == "json_invalid":
            at = one["loc"][-1]
            return Problem("invalid_body", f"it is no JSON: {one.get('ctx', {}).get('error', 'broken')} at {at}")
        if place == "body" and len(one["loc"]) == 1:
            return _of_whole_body(one)
    shown = [{"field": field_of(one["loc"]), "detail": _words(one)} for one in found[:20]]
    first = found[0]
    code = "invalid_field" if first["loc"][0] == "body" else "invalid_parameter"
    field = shown[0]["field"]
    errors = shown if len(shown) > 1 else ()
    return Problem(code, f"{field}: {_words(first)}", field=field, allowed=_allowed(first), errors=errors)


def _of_whole_body(one: Mapping[str, Any]) -> Problem:
    if isinstance(one.get("input"), bytes):
        return Problem(
            "unsupported_media_type", "send the body as Content-Type: application/json", field="Content-Type"
        )
    if one["type"] == "missing":
        return Problem("invalid_body", "a body is needed: send a JSON object")
    return Problem("invalid_body", f"the body: {_words(one)}")


def field_of(loc: tuple[int | str, ...]) -> str:
    """Where it is, as a path such as `args.items[3].name`."""
    words = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc[1:])
    return words.removeprefix(".")[:200]


def _words(one: Mapping[str, Any]) -> str:
    if one["type"] == "extra_forbidden":
        return "no such field here"
    message: str = one["msg"]
    return message.removeprefix("Value error, ").strip()


def _allowed(one: Mapping[str, Any]) -> list[str] | None:
    if one["type"] in ("literal_error", "enum"):
        return re.findall(r"'([^']*)'", str(one.get("ctx", {}).get("expected", ""))) or None
    return None


def _of_database(error: Exception) -> Problem | None:
    """What a database throws: it is away, or it cannot hold what the client sent."""
    state = getattr(error, "sqlstate", None)
    kind = state[:2] if isinstance(state, str) else ""
    if kind == "22" or isinstance(error, OverflowError | UnicodeEncodeError):
        return Problem("invalid_field", "a value is out of the range that the database can hold")
    is_away = kind in AWAY or isinstance(error, ConnectionError | TimeoutError | sqlite3.OperationalError)
    # asyncpg's own word for a connection that is gone or in use: no SQLSTATE, and not imported for users of SQLite.
    if is_away or type(error).__name__ == "InterfaceError":
        return unavailable("the database cannot be reached")
    return None


async def _answer(request: Request, error: Exception) -> Response:
    problem = problem_of(error)
    if problem.status >= 500:
        about = {"path": request.url.path, "correlation_id": request.scope.get("state", {}).get("correlation_id")}
        log.warning("request_failed", code=problem.code, error=f"{type(error).__name__}: {error}", **about)
    return problem.response(request.scope)


def install(app: FastAPI) -> None:
    for kind in (BareHTTPException, HTTPException, RequestValidationError, HoldfastError):
        app.add_exception_handler(kind, _answer)


class LastResort:
    """Answers for what no handler took, and logs it with its trace: nothing of that is the client's business."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except asyncio.CancelledError:
            # Only a server that goes down cancels requests: the task ends here either way, and the caller may know.
            if not started:
                await unavailable("the server is going down").response(scope)(scope, receive, send)
        except Exception as error:
            problem = problem_of(error)
            about = {"path": scope["path"], "correlation_id": scope.get("state", {}).get("correlation_id")}
            is_defect = problem.code == "internal_error"
            log.warning("request_failed", code=problem.code, exc_info=is_defect, error=str(error)[:500], **about)
            if started:
                raise  # half an answer is out: only closing the connection tells the truth
            await problem.response(scope)(scope, receive, send)


assert set(BY_STATUS.values()) <= KINDS.keys()  # noqa: S101 - a table of ours, checked when it is read
