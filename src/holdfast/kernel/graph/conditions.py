"""Conditions as data: what a result must be like for a way to be taken.

A test is {"path": "order.lines.0.price", "op": ">", "value": 100}; tests are grouped by {"and": […]}, {"or": […]} and
{"not": …}. A path leads through objects by key and through lists by index; the empty path is the whole value. Where
it leads nowhere, only `not exists` and `is empty` hold. A comparison of things that do not compare is false.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, assert_never

from holdfast.kernel.graph.pattern import Pattern

Path: TypeAlias = tuple[str, ...]

INDEX = re.compile(r"[0-9]{1,9}")


class _Absent:
    """Where a path leads nowhere. Not None: null is something."""


ABSENT = _Absent()


@dataclass(frozen=True, slots=True)
class Test:
    """One comparison. `pattern` is the compiled value of a `matches`."""

    __test__ = False  # its name is no invitation to pytest

    path: Path
    op: str
    value: Any = None
    pattern: Pattern | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: Condition


Condition: TypeAlias = Test | And | Or | Not


class Operator(NamedTuple):
    """How an operator judges what its path led to; `unary` ones take no value."""

    holds: Callable[[Any, Test], bool]
    unary: bool = False


def holds(condition: Condition, document: object) -> bool:
    """Whether the condition is true of a JSON value. Never raises: what does not fit is false."""
    match condition:
        case Test():
            return OPERATORS[condition.op].holds(find(condition.path, document), condition)
        case And(parts):
            return all(holds(part, document) for part in parts)
        case Or(parts):
            return any(holds(part, document) for part in parts)
        case Not(part):
            return not holds(part, document)
        case _:
            assert_never(condition)


def find(path: Path, document: object) -> Any:
    """What a path leads to, or ABSENT."""
    at = document
    for step in path:
        if isinstance(at, Mapping) and step in at:
            at = at[step]
        elif isinstance(at, list | tuple) and INDEX.fullmatch(step) and int(step) < len(at):
            at = at[int(step)]
        else:
            return ABSENT
    return at


def paths(condition: Condition, where: str = "") -> Iterator[tuple[Path, str]]:
    """The paths that a condition looks at, each with where in the condition it stands."""
    match condition:
        case Test(path):
            yield path, where
        case And(parts):
            for number, part in enumerate(parts):
                yield from paths(part, f"{where}.and[{number}]")
        case Or(parts):
            for number, part in enumerate(parts):
                yield from paths(part, f"{where}.or[{number}]")
        case Not(part):
            yield from paths(part, f"{where}.not")
        case _:
            assert_never(condition)


def same(one: object, other: object) -> bool:
    """Equal as JSON: 1 is 1.0, and neither is true."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    return type(one) is type(other) and one == other


def _order(one: object, other: object) -> int | None:
    """-1, 0 or 1; None when the two have no order: only numbers have one, and texts."""
    if isinstance(one, bool) or isinstance(other, bool):
        return None
    if isinstance(one, int | float) and isinstance(other, int | float):
        return (one > other) - (one < other)
    if isinstance(one, str) and isinstance(other, str):
        return (one > other) - (one < other)
    return None


def _within(item: object, container: object) -> bool | None:
    """Whether a list has the item, a text the piece, an object the key; None when neither could be."""
    if isinstance(container, list | tuple):
        return any(same(item, each) for each in container)
    if isinstance(container, str | Mapping) and isinstance(item, str):
        return item in container
    return None


def _is_empty(value: object) -> bool:
    return value is ABSENT or value is None or (isinstance(value, str | list | tuple | Mapping) and not value)


OPERATORS: dict[str, Operator] = {
    "==": Operator(lambda at, test: at is not ABSENT and same(at, test.value)),
    "!=": Operator(lambda at, test: at is not ABSENT and not same(at, test.value)),
    ">": Operator(lambda at, test: _order(at, test.value) == 1),
    "<": Operator(lambda at, test: _order(at, test.value) == -1),
    ">=": Operator(lambda at, test: _order(at, test.value) in (0, 1)),
    "<=": Operator(lambda at, test: _order(at, test.value) in (0, -1)),
    "in": Operator(lambda at, test: at is not ABSENT and _within(at, test.value) is True),
    "not in": Operator(lambda at, test: at is not ABSENT and _within(at, test.value) is False),
    "contains": Operator(lambda at, test: _within(test.value, at) is True),
    "not contains": Operator(lambda at, test: _within(test.value, at) is False),
    "matches": Operator(
        lambda at, test: isinstance(at, str) and test.pattern is not None and test.pattern.found_in(at)
    ),
    "exists": Operator(lambda at, test: at is not ABSENT, unary=True),
    "not exists": Operator(lambda at, test: at is ABSENT, unary=True),
    "is empty": Operator(lambda at, test: _is_empty(at), unary=True),
    "is not empty": Operator(lambda at, test: not _is_empty(at), unary=True),
}
