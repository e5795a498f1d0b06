"""Which problems each operation may answer: what its shape implies, and what it says of itself.

The document lists them, and requests that are made up from the document hold the server to the list.
"""

from __future__ import annotations

from typing import Any

from holdfast.api.access.scopes import Access
from holdfast.api.problems.kinds import KINDS, MEDIA_TYPE

EVERYWHERE = ("invalid_request", "misdirected", "rate_limited", "too_busy", "unavailable", "internal_error")


def problems_of(method: str, path: str, operation: dict[str, Any], access: Access) -> list[str]:
    """The codes that an operation may answer, in the order of the table of problems."""
    codes = {*EVERYWHERE, *access.problems}
    parameters = operation.get("parameters", [])
    places = {parameter["in"] for parameter in parameters}
    headers = {parameter["name"] for parameter in parameters if parameter["in"] == "header"}
    if path.startswith("/api/"):
        codes |= {"unknown_parameter"}
    if parameters:
        codes |= {"invalid_parameter"}
    if "path" in places:
        codes |= {"not_found"}
    if access.scope is not None:
        codes |= {"unauthorized", "forbidden"}
    if method != "GET":
        # Any of them may be sent a body, and has it measured before it is looked at.
        codes |= {"forbidden_origin", "too_large", "too_slow", "invalid_body"}
    if "requestBody" in operation:
        codes |= {"invalid_field", "unsupported_media_type"}
    if "Idempotency-Key" in headers:
        codes |= {"conflict_state", "idempotency_in_flight", "idempotency_mismatch"}
    if "If-Match" in headers:
        codes |= {"precondition_failed"}
    if access.is_unsafe_get:
        codes |= {"method_not_allowed"}
    return [code for code in KINDS if code in codes]


def responses_of(codes: list[str]) -> dict[str, dict[str, Any]]:
    """Problems as the document's responses: one for each status, which names its codes."""
    by_status: dict[int, list[str]] = {}
    for code in codes:
        by_status.setdefault(KINDS[code].status, []).append(code)
    return {
        str(status): {
            "description": "; ".join(f"`{code}`: {KINDS[code].title}" for code in some),
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status, some in sorted(by_status.items())
    }
