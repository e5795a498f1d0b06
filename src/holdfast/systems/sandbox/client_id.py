"""The id that a client gives a sandboxed job so that a repeated request finds it again."""

from __future__ import annotations

import re

from holdfast.kernel.errors import PayloadError

LONGEST = 36
UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def client_job_id(text: object) -> str:
    """The id in its one spelling (lower case), as it is compared; PayloadError for what is no UUID v4."""
    if not isinstance(text, str):
        raise _bad(f"is {type(text).__name__}, not text")
    if len(text) > LONGEST:
        raise _bad(f"has {len(text)} characters, more than {LONGEST}")
    spelled = text.lower()
    if UUID4.fullmatch(spelled) is None:
        raise _bad("is no UUID v4")
    return spelled


def _bad(problem: str) -> PayloadError:
    return PayloadError(
        field="client_job_id", problem=problem, remedy="send a UUID v4 such as 550e8400-e29b-41d4-a716-446655440000"
    )
