"""A store's logic as a script: it yields statements and is sent their rows.

The two databases are driven in different ways (one in a thread, one over a socket), the logic is the same. A
script knows neither: whoever runs it does so inside one transaction.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class Query(NamedTuple):
    """One named statement with its parameters; answered with its rows."""

    name: str
    params: Mapping[str, Any] = {}


class Many(NamedTuple):
    """One named statement, run for many rows of positional parameters; answered with nothing."""

    name: str
    rows: Sequence[Sequence[Any]]


Row = Sequence[Any]
Script = Generator[Query | Many, list[Any], T]


def rows_of(name: str, params: Mapping[str, Any] | None = None) -> Script[list[Any]]:
    """One statement, as a script."""
    rows = yield Query(name, params or {})
    return rows
