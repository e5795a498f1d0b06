"""`k=v` on the command line: JSON where the value reads as JSON, and text where it does not or is to be text."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

from holdfast.cli.exits import UsageError


def named_values(words: Sequence[str] | None, option: str, texts: Collection[str] = ()) -> dict[str, Any]:
    """Values by name. Later ones win; a word without a name is a UsageError.

    What is named in `texts` is text: 12.5 stays as it was typed, and "12.5" loses its quotes.
    """
    found: dict[str, Any] = {}
    for word in words or ():
        name, equals, text = word.partition("=")
        if not (name.strip() and equals):
            raise UsageError(f"{option} {word!r} is not name=value", field=option, remedy=f"say {option} url=…")
        value = value_of(text)
        found[name.strip()] = text if name.strip() in texts and not isinstance(value, str) else value
    return found


def value_of(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text


def _refuse(name: str) -> Any:
    """NaN and the infinities are no JSON, whatever Python's parser thinks."""
    raise ValueError(name)
