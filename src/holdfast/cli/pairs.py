"""`k=v` on the command line: the value is JSON where it reads as JSON, and text where it does not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from holdfast.cli.exits import UsageError


def named_values(words: Sequence[str] | None, option: str) -> dict[str, Any]:
    """Values by name. Later ones win; a word without a name is a UsageError."""
    found: dict[str, Any] = {}
    for word in words or ():
        name, equals, text = word.partition("=")
        if not (name.strip() and equals):
            raise UsageError(f"{option} {word!r} is not name=value", field=option, remedy=f"say {option} url=…")
        found[name.strip()] = value_of(text)
    return found


def value_of(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text


def _refuse(name: str) -> Any:
    """NaN and the infinities are no JSON, whatever Python's parser thinks."""
    raise ValueError(name)
