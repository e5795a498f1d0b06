"""A store's logic as a script: it yields statements and is sent their rows.

The two databases are driven in different ways (one in a thread, one over a socket), the logic is the same. A
script knows neither: whoever runs it does so inside one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
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


def written_once(script: Script[T], writes: Callable[[str], bool]) -> Script[T]:
    """A script that runs without a transaction around it: the second of its statements to write stops it."""
    wrote = False
    answer: list[Any] | None = None
    while True:
        try:
            step = next(script) if answer is None else script.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return] # a script returns what its type says
        if writes(step.name):
            if wrote:
                script.close()
                raise RuntimeError(f"{step.name} would write outside of the transaction that its script needs")
            wrote = True
        answer = yield step


def rows_of(name: str, params: Mapping[str, Any] | None = None) -> Script[list[Any]]:
    """One statement, as a script."""
    rows = yield Query(name, params or {})
    return rows
