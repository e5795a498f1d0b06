"""Problems: what a refused request is answered, after RFC 9457. Every code is in `KINDS`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import HTTPException
from starlette.responses import Response
from starlette.types import Scope

from holdfast import catalog
from holdfast.api.problems.kind import Kind
from holdfast.kernel.errors import HoldfastError

MEDIA_TYPE = "application/problem+json"
LONGEST_FIELD = 200
LONGEST_NAME = 100
"""A field's name may be the client's own words: no more of them than this go back."""


OURS: dict[str, Kind] = {
    "invalid_request": Kind(400, "The request is malformed", "It cannot be read as HTTP means it; mend and repeat it."),
    "invalid_body": Kind(400, "The body cannot be read", "It is no JSON, has the wrong shape, or nests too deep."),
    "invalid_parameter": Kind(400, "A parameter is wrong", "`field` names it; `allowed` lists what would be right."),
    "unknown_parameter": Kind(400, "A parameter is unknown", "`field` names it; `allowed` lists the known ones."),
    "unauthorized": Kind(401, "A key is needed", "No key was sent, or it is wrong, expired or revoked."),
    "forbidden": Kind(403, "The key may not do this", "Its scope is too small; `allowed` lists scopes that suffice."),
    "forbidden_origin": Kind(403, "Not from that page", "A browser sent this from a page of another origin."),
    "not_found": Kind(404, "There is no such thing", "No path, job, queue, task … of that name; `field` says which."),
    "method_not_allowed": Kind(405, "Not with this method", "`allowed` lists the methods that the path has."),
    "too_slow": Kind(408, "The body did not arrive in time", "Send it again, faster."),
    "conflict_state": Kind(
        409,
        "Not in the state that it is in",
        "`state` is where it stands and `allowed` what may be done to it there; with Retry-After, a repeat may do.",
    ),
    "duplicate_key": Kind(409, "The key is taken", "Another job holds it, and the request asked not to share it."),
    "idempotency_in_flight": Kind(409, "Still at it", "The first request under this Idempotency-Key goes on; retry."),
    "gone": Kind(410, "It is no more", "It was there, and its time is over."),
    "precondition_failed": Kind(412, "It has changed", "If-Match names another version than the job's."),
    "too_large": Kind(413, "The body is too large", "Send less at once; the limit is in `detail`."),
    "unsupported_media_type": Kind(
        415, "Not in this format", "Bodies are application/json unless the route says other."
    ),
    "misdirected": Kind(421, "Not for this server", "The Host header names none of this server's own names."),
    "invalid_field": Kind(422, "A field is wrong", "`field` names it, `detail` says what would be right."),
    "idempotency_mismatch": Kind(422, "Another request had that key", "Use a fresh Idempotency-Key for another body."),
    "rate_limited": Kind(429, "Too many requests", "Wait for as long as Retry-After says."),
    "saturated": Kind(429, "Too busy to wait", "Nothing was created; repeat after Retry-After, or without `wait`."),
    "internal_error": Kind(500, "Something went wrong here", "A defect: the server's log has it by correlation_id."),
    "too_busy": Kind(503, "All places are taken", "Too many requests or streams at once; Retry-After says when."),
    "unavailable": Kind(503, "The database is away", "Nothing was lost; repeat after Retry-After, under the same key."),
}


def _kinds() -> dict[str, Kind]:
    """Ours and those of the systems, by status."""
    found = dict(OURS)

    def join(kinds: Mapping[str, Kind]) -> None:
        if taken := sorted(found.keys() & kinds):
            raise catalog.SystemRefusedError(f"a problem is called {taken[0]!r} already")
        found.update({code: Kind(*kind) for code, kind in kinds.items()})

    catalog.brought("problems", join)
    return dict(sorted(found.items(), key=lambda item: item[1].status))


KINDS = _kinds()

BY_STATUS = {
    400: "invalid_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict_state",
    410: "gone",
    412: "precondition_failed",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid_field",
    429: "rate_limited",
    503: "unavailable",
}
"""What a bare status becomes."""


class Problem(HTTPException):
    """Raise it anywhere below a route: `Problem("not_found", "no job 'x'", field="id")`.

    The code decides status and title. `field` is what is wrong, `allowed` what would be right, `errors` further
    fields that are wrong too. `about` are facts for programs, under the names of ABOUT.
    """

    # An HTTPException, because the framework lets no other pass while a body is read.

    def __init__(
        self,
        code: str,
        detail: str = "",
        *,
        field: str | None = None,
        allowed: Sequence[str] | None = None,
        errors: Sequence[Mapping[str, Any]] = (),
        about: Mapping[str, str | int | None] | None = None,
        headers: Mapping[str, str] | None = None,
        status: int | None = None,
    ) -> None:
        kind = KINDS[code]
        super().__init__(status or kind.status, detail or kind.meaning, dict(headers or {}))
        self.code = code
        self.title = kind.title
        self.field = field if field is None else field[:LONGEST_FIELD]
        self.allowed = None if allowed is None else list(allowed)
        self.errors = list(errors)
        self.about = {name: value for name, value in (about or {}).items() if value is not None}

    @property
    def status(self) -> int:
        return self.status_code

    def body(self) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "type": f"/problems/{self.code}",
            "title": self.title,
            "status": self.status_code,
            "detail": self.detail,
            "code": self.code,
        }
        for name, value in (("field", self.field), ("allowed", self.allowed), ("errors", self.errors or None)):
            if value is not None:
                shown[name] = value
        return shown | self.about

    def response(self, scope: Scope) -> Response:
        """The answer to the request of this scope."""
        shown = self.body()
        if correlation_id := scope.get("state", {}).get("correlation_id"):
            shown.setdefault("correlation_id", correlation_id)
        # Escaped to ASCII: what a client sent may hold half a character, which no UTF-8 can carry.
        content = json.dumps(shown, separators=(",", ":"))
        return Response(content, self.status_code, headers=dict(self.headers or {}), media_type=MEDIA_TYPE)


def about_of(error: HoldfastError) -> dict[str, str | int | None]:
    """What an error knows beside its text."""
    return {name: value for name in ABOUT if isinstance(value := getattr(error, name, None), str)}


def refusal(code: str, error: HoldfastError, *, field: str | None = None) -> Problem:
    """An error of ours as the problem of this code."""
    return Problem(code, str(error), field=field or error.field, about=about_of(error))


def missing(what: str, name: str, remedy: str, *, field: str = "id", allowed: Sequence[str] | None = None) -> Problem:
    """There is no such thing, and what helps."""
    detail = f"no {what} {name[:LONGEST_NAME]!r}; {remedy}"
    facts = {"what": what, "name": name[:LONGEST_NAME], "remedy": remedy}
    return Problem("not_found", detail, field=field, allowed=allowed, about=facts)


def unavailable(detail: str) -> Problem:
    return Problem("unavailable", detail, headers={"Retry-After": "1"})


ABOUT = {
    "remedy": "What helps; `detail` ends with it.",
    "job_id": "The job that it is about, or that holds the key.",
    "lifecycle": "The lifecycle of that job.",
    "state": "The state that it is in, as its lifecycle calls it.",
    "command": "What was asked of it.",
    "key": "The key that is taken.",
    "scope": "Where that key counts.",
    "what": "The kind of thing that was looked for.",
    "name": "What it was called.",
}
"""Facts that stand beside `detail`, so that no program has to read them out of it."""

PROBLEM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "title": "Problem",
    "description": "What a refused request is answered (RFC 9457).",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string", "examples": ["/problems/not_found"]},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string", "enum": list(KINDS)},
        "field": {"type": "string"},
        "allowed": {"type": "array", "items": {"type": "string"}},
        "errors": {"type": "array", "items": {"type": "object"}},
        "correlation_id": {"type": "string"},
        **{name: {"type": "string", "description": meaning} for name, meaning in ABOUT.items()},
    },
}
"""As the OpenAPI document describes it."""
