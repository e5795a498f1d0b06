"""`holdfast api`: one call of a running server, its answer on stdout, its outcome in the exit code."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from holdfast.cli.exits import Exit, UnavailableError, UsageError
from holdfast.cli.invocation import Call, Invocation, Output
from holdfast.config import load
from holdfast.extras import needs

if TYPE_CHECKING:
    import httpx

METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD")
OUTSIDE = ("/api/", "/healthz", "/readyz", "/metrics")
TIMEOUT_S = 60.0


def api(
    method: Annotated[str, Parameter(name="METHOD")],
    path: Annotated[str, Parameter(name="PATH")],
    /,
    *,
    data: str | None = None,
    url: str | None = None,
    key: str | None = None,
    idempotency_key: str | None = None,
    call: Call,
) -> int:
    """Call a running server: `holdfast api POST /jobs --data '{"task": "add"}'`.

    Args:
        method: GET, POST, PUT, DELETE …
        path: What follows /api, such as /jobs?state=queued.
        data: The body, as JSON; - reads it from stdin.
        url: The server; else HOLDFAST_URL, else http://127.0.0.1:54322.
        key: The key; else HOLDFAST_KEY. Better there: others on this machine may see a command's words.
        idempotency_key: Under the same one, a repeated call has no second effect and gets the same answer.
    """
    if method.upper() not in METHODS:
        raise UsageError(f"{method!r} is no method", field="METHOD", remedy=f"one of {', '.join(METHODS)}")
    found = load({"url": url, "key": key})
    body = _body(data)
    headers = {"Accept": "application/json, */*;q=0.5"}
    if body is not None:
        headers["Content-Type"] = "application/json"
    if found.key is not None:
        headers["Authorization"] = f"Bearer {found.key}"
    if idempotency_key is not None:
        headers["Idempotency-Key"] = idempotency_key
    with needs("cli", "a call"):
        import httpx

    try:
        # Not through a proxy that the environment names: most servers are on this machine.
        with httpx.Client(trust_env=False, timeout=httpx.Timeout(TIMEOUT_S, read=None)) as client:
            target = found.url.rstrip("/") + _full(path)
            with client.stream(method.upper(), target, content=body, headers=headers) as answer:
                return _show(call, answer)
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeEncodeError) as error:
        raise UsageError(f"the call cannot be sent: {error}", field="PATH", remedy="check path, url and key") from error
    except httpx.HTTPError as error:
        raise UnavailableError(
            f"{found.url} does not answer: {str(error) or type(error).__name__}",
            remedy="start it with `holdfast serve`, or say another --url",
        ) from error


def _body(data: str | None) -> bytes | None:
    if data is None:
        return None
    text = sys.stdin.read() if data == "-" else data
    try:
        json.loads(text)
    except ValueError as error:
        raise UsageError(f"--data is no JSON: {error}", field="--data", remedy="quote it for the shell") from error
    return text.encode()


def _full(path: str) -> str:
    path = path if path.startswith("/") else f"/{path}"
    return path if path.startswith(OUTSIDE) else f"/api{path}"


def _show(call: Invocation, answer: httpx.Response) -> int:
    kind = answer.headers.get("content-type", "").partition(";")[0]
    if kind == "application/json" or kind.endswith("+json"):
        answer.read()
        if answer.content:
            _show_json(call, answer.json())
    else:
        for text in answer.iter_text():
            sys.stdout.write(text)
            sys.stdout.flush()
    if answer.is_success:
        return Exit.OK
    call.say(f"{answer.status_code} {answer.reason_phrase}")
    return exit_of_status(answer.status_code)


def _show_json(call: Invocation, data: Any) -> None:
    items = data["items"] if isinstance(data, dict) and isinstance(data.get("items"), list) else None
    match call.output:
        case Output.IDS:
            found = [data] if items is None else items
            call.print_ids(each["id"] for each in found if isinstance(each, dict) and "id" in each)
        case Output.JSONL if items is not None:
            call.print_json(items)
        case _:
            call.print_json(data)


def exit_of_status(status: int) -> Exit:
    """The exit code that means the same as a status."""
    match status:
        case 401 | 403:
            return Exit.NOT_PERMITTED
        case 404 | 410:
            return Exit.NOT_FOUND
        case 409 | 412:
            return Exit.CONFLICT
        case 408 | 429 | 502 | 503 | 504:
            return Exit.UNAVAILABLE
        case _:
            return Exit.USAGE if status < 500 else Exit.ERROR
