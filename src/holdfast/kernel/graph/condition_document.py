"""Conditions from documents and back, and in a few words for a diagram."""

from __future__ import annotations

from typing import Any, assert_never

from holdfast.kernel import strictly as doc
from holdfast.kernel.errors import PayloadError
from holdfast.kernel.graph.conditions import OPERATORS, And, Condition, Not, Or, Path, Test
from holdfast.kernel.graph.pattern import Pattern
from holdfast.kernel.graph.pattern_syntax import PatternError
from holdfast.kernel.payload.encoding import encode
from holdfast.kernel.strictly import DocumentError

MAX_DEPTH = 32
MAX_PARTS = 200
MAX_VALUE_BYTES = 65_536
SHAPE = 'write {"path": …, "op": …, "value": …}, {"and": […]}, {"or": […]} or {"not": …}'


def parse(data: object, path: str = "condition", depth: int = 1) -> Condition:
    """A condition from its document, or DocumentError that names the field and the remedy."""
    if depth > MAX_DEPTH:
        raise DocumentError(path, f"is nested more than {MAX_DEPTH} deep", "flatten the groups")
    given = doc.mapping(data, path)
    groups = [name for name in ("and", "or", "not") if name in given]
    if not groups:
        return _test(doc.mapping(given, path, ("path", "op", "value")), path)
    if len(given) > 1:
        other = next(name for name in given if name != groups[0])
        raise DocumentError(f"{path}.{other}", f"stands beside {groups[0]!r}", SHAPE)
    inside = f"{path}.{groups[0]}"
    if groups[0] == "not":
        return Not(parse(given["not"], inside, depth + 1))
    items = doc.sequence(given[groups[0]], inside)
    if not 0 < len(items) <= MAX_PARTS:
        raise DocumentError(inside, f"has {len(items)} parts", f"a group has 1 to {MAX_PARTS}")
    parts = tuple(parse(item, f"{inside}[{number}]", depth + 1) for number, item in enumerate(items))
    return And(parts) if groups[0] == "and" else Or(parts)


def _test(given: Any, path: str) -> Test:
    if "op" not in given:
        raise DocumentError(f"{path}.op", "is missing", SHAPE)
    op = doc.choice(given["op"], f"{path}.op", OPERATORS)
    where = parse_path(given.get("path", ""), f"{path}.path")
    at = f"{path}.value"
    if OPERATORS[op].unary:
        if "value" in given:
            raise DocumentError(at, f"is not needed by {op!r}", "leave it out")
        return Test(where, op)
    if "value" not in given:
        raise DocumentError(at, "is missing", f"{op!r} compares with a value")
    value = given["value"]
    if op in ("in", "not in") and not isinstance(value, list | tuple | str):
        raise DocumentError(at, f"is {doc.shown(value)}", f"{op!r} takes a list or a text")
    try:
        encode(value, what=at, max_bytes=MAX_VALUE_BYTES)
    except PayloadError as error:
        raise DocumentError(error.field, error.problem, error.remedy) from None
    if op != "matches":
        return Test(where, op, value)
    try:
        return Test(where, op, value, Pattern(doc.text(value, at, longest=Pattern.LONGEST_CHARS)))
    except PatternError as error:
        raise DocumentError(at, error.message, error.remedy or "simplify it") from None


def parse_path(data: object, path: str) -> Path:
    """Steps from "a.b.0", or from ["a.b", 0] where a key has a dot in it."""
    if isinstance(data, str):
        steps: list[Any] = data.split(".") if data else []
    else:
        steps = doc.sequence(data, path)
    for step in steps:
        good = isinstance(step, str | int) and not isinstance(step, bool) and step != ""
        if not good or (isinstance(step, int) and step < 0):
            raise DocumentError(path, f"has the step {doc.shown(step)}", 'write "a.b.0", or a list of keys and indices')
    if len(steps) > MAX_DEPTH * 2:
        raise DocumentError(path, f"has {len(steps)} steps", f"at most {MAX_DEPTH * 2}")
    return tuple(str(step) for step in steps)


def path_document(path: Path) -> str | list[str]:
    return list(path) if any("." in step for step in path) else ".".join(path)


def to_document(condition: Condition) -> dict[str, Any]:
    """The document that `parse` reads as this condition."""
    match condition:
        case Test(path, op, value):
            document = {"path": path_document(path), "op": op}
            return document if op in OPERATORS and OPERATORS[op].unary else document | {"value": value}
        case And(parts):
            return {"and": [to_document(part) for part in parts]}
        case Or(parts):
            return {"or": [to_document(part) for part in parts]}
        case Not(part):
            return {"not": to_document(part)}
        case _:
            assert_never(condition)


def words(condition: Condition) -> str:
    """The condition as a person would write it."""
    match condition:
        case Test(path, op, value):
            phrase = f"{'.'.join(path) or 'result'} {op}"
            return phrase if OPERATORS[op].unary else f"{phrase} {encode(value)}"
        case And(parts):
            return " and ".join(f"({words(part)})" if isinstance(part, Or) else words(part) for part in parts)
        case Or(parts):
            return " or ".join(f"({words(part)})" if isinstance(part, And) else words(part) for part in parts)
        case Not(part):
            return f"not ({words(part)})"
        case _:
            assert_never(condition)
