"""Conditions as data: what each operator says of each kind of value, and what a bad document is told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.kernel.graph.condition_document import MAX_DEPTH, parse, to_document, words
from holdfast.kernel.graph.conditions import OPERATORS, holds
from holdfast.kernel.strictly import DocumentError

ORDER: dict[str, Any] = {
    "status": "paid",
    "total": 120.5,
    "count": 2,
    "lines": [{"sku": "a-1", "price": 100}, {"sku": "b-2", "price": 20.5}],
    "tags": ["eu", "vat"],
    "note": None,
    "empty": "",
    "nothing": [],
    "ok": True,
    "by": {"eu": 1},
    "a.b": {"0": "dotted"},
}


def says(path: Any, op: str, *value: Any) -> bool:
    given = {"path": path, "op": op} | ({"value": value[0]} if value else {})
    return holds(parse(given), ORDER)


@pytest.mark.parametrize(
    ("path", "op", "value"),
    [
        ("status", "==", "paid"),
        ("count", "==", 2.0),
        ("lines.0", "==", {"price": 100, "sku": "a-1"}),
        ("note", "==", None),
        ("", "==", ORDER),
        (["a.b", 0], "==", "dotted"),
        ("status", "!=", "open"),
        ("status", "!=", 3),
        ("ok", "!=", 1),
        ("total", ">", 120),
        ("status", ">", "open"),
        ("total", "<", 121),
        ("count", ">=", 2),
        ("lines.1.price", "<=", 20.5),
        ("status", "in", ["open", "paid"]),
        ("status", "in", "unpaid"),
        ("count", "not in", [1, 3]),
        ("status", "not in", "open"),
        ("tags", "contains", "vat"),
        ("status", "contains", "ai"),
        ("by", "contains", "eu"),
        ("tags", "not contains", "us"),
        ("status", "not contains", "x"),
        ("lines.0.sku", "matches", r"^[a-z]-\d$"),
        ("lines.0.sku", "matches", "-"),
    ],
)
def test_it_holds(path: Any, op: str, value: Any) -> None:
    assert says(path, op, value)


@pytest.mark.parametrize(
    ("path", "op", "value"),
    [
        ("count", "==", "2"),
        ("ok", "==", 1),
        ("count", "==", True),
        ("note", "==", False),
        ("tags", "==", ["vat", "eu"]),
        ("missing", "==", None),
        ("missing", "!=", 1),
        ("status", "!=", "paid"),
        ("total", ">", "120"),
        ("ok", ">", 0),
        ("count", ">", False),
        ("note", "<", 1),
        ("missing", "<=", 1),
        ("tags", ">=", []),
        ("count", "in", "123"),
        ("count", "not in", "13"),
        ("ok", "in", [1]),
        ("missing", "in", [None]),
        ("missing", "not in", [1]),
        ("count", "contains", 2),
        ("count", "not contains", 2),
        ("missing", "not contains", 2),
        ("status", "contains", 3),
        ("count", "matches", "2"),
        ("missing", "matches", "."),
        ("status", "matches", "^aid"),
        ("lines.2.sku", "==", None),
        ("lines.-1.sku", "==", "b-2"),
        ("status.0", "==", "p"),
        ("lines." + "9" * 5_000, "==", 1),
    ],
)
def test_it_does_not_hold(path: Any, op: str, value: Any) -> None:
    assert not says(path, op, value)


def test_what_is_there_and_what_is_empty() -> None:
    assert [name for name in ORDER if not says([name], "exists")] == []
    assert says("missing", "not exists")
    assert says("lines.0.missing", "not exists")
    empty = ["note", "empty", "nothing", "missing"]
    assert all(says(name, "is empty") and not says(name, "is not empty") for name in empty)
    full = ["status", "total", "ok", "lines", "by"]
    assert all(says(name, "is not empty") and not says(name, "is empty") for name in full)


def test_groups() -> None:
    paid, cheap = {"path": "status", "op": "==", "value": "paid"}, {"path": "total", "op": "<", "value": 10}
    assert not holds(parse({"and": [paid, cheap]}), ORDER)
    assert holds(parse({"or": [cheap, paid]}), ORDER)
    assert holds(parse({"not": cheap}), ORDER)
    assert holds(parse({"and": [paid, {"not": {"or": [cheap, cheap]}}]}), ORDER)


def test_in_words() -> None:
    small = {"path": "total", "op": "<", "value": 10}
    both = {"and": [small, {"or": [{"path": "note", "op": "is empty"}, {"not": {"op": "==", "value": "x"}}]}]}
    assert words(parse(both)) == 'total < 10 and (note is empty or not (result == "x"))'


DEEP: Any = {"op": "exists"}
for _ in range(MAX_DEPTH):
    DEEP = {"not": DEEP}

BAD: list[tuple[Any, str, str]] = [
    ("x", "when", "write an object"),
    ({}, "when.op", "is missing"),
    ({"path": "a", "op": "=", "value": 1}, "when.op", "one of ==, !=, >"),
    ({"path": "a", "op": "=="}, "when.value", "is missing"),
    ({"path": "a", "op": "exists", "value": 1}, "when.value", "leave it out"),
    ({"path": "a", "op": "in", "value": 3}, "when.value", "takes a list or a text"),
    ({"path": "a..b", "op": "exists"}, "when.path", "has the step ''"),
    ({"path": ["a", -1], "op": "exists"}, "when.path", "has the step -1"),
    ({"path": ["a", True], "op": "exists"}, "when.path", "has the step True"),
    ({"path": 3, "op": "exists"}, "when.path", "write a list"),
    ({"path": "a", "op": "==", "value": 1, "not_this": 2}, "when.not_this", "known: path, op, value"),
    ({"and": []}, "when.and", "has 0 parts"),
    ({"and": {}}, "when.and", "write a list"),
    ({"and": [{"op": "exists"}], "path": "a"}, "when.path", "stands beside 'and'"),
    ({"and": [{"op": "exists"}, {"or": [{"op": "nope"}]}]}, "when.and[1].or[0].op", "one of"),
    ({"not": [1]}, "when.not", "write an object"),
    ({"op": "==", "value": float("nan")}, "when.value", "nan"),
    ({"op": "==", "value": {1, 2}}, "when.value", "set"),
    ({"op": "matches", "value": "("}, "when.value", "add a )"),
    ({"op": "matches", "value": 3}, "when.value", "write a text"),
    ({"op": "matches", "value": "a" * 501}, "when.value", "1 to 500"),
    (DEEP, "when" + ".not" * MAX_DEPTH, "more than 32 deep"),
]


@pytest.mark.parametrize(("document", "field", "says"), BAD, ids=lambda value: str(value)[:40])
def test_a_bad_document_is_told_where_and_how(document: Any, field: str, says: str) -> None:
    with pytest.raises(DocumentError) as error:
        parse(document, "when")
    assert error.value.field == field
    assert says in str(error.value)


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab0"), inner, max_size=3),
    max_leaves=8,
)
PATHS = st.lists(st.sampled_from(["a", "b", "0", "1"]), max_size=3).map(".".join)


def comparisons(value: Any) -> st.SearchStrategy[dict[str, Any]]:
    def one(op: str, path: str) -> dict[str, Any]:
        if OPERATORS[op].unary:
            return {"path": path, "op": op}
        fit = {"matches": "a+", "in": [value], "not in": [value]}.get(op, value)
        return {"path": path, "op": op, "value": fit}

    return st.builds(one, st.sampled_from(sorted(OPERATORS)), PATHS)


CONDITIONS = VALUES.flatmap(
    lambda value: st.recursive(
        comparisons(value),
        lambda inner: (
            st.builds(
                lambda group, parts: {group: parts},
                st.sampled_from(["and", "or"]),
                st.lists(inner, min_size=1, max_size=3),
            )
            | st.builds(lambda part: {"not": part}, inner)
        ),
        max_leaves=6,
    )
)


@pytest.mark.slow
@given(CONDITIONS, VALUES)
def test_any_condition_judges_any_value_and_survives_its_document(document: dict[str, Any], value: Any) -> None:
    condition = parse(document)
    kept = parse(json.loads(json.dumps(to_document(condition))))
    assert kept == condition
    assert holds(condition, value) is holds(kept, value)
    assert words(condition)


@given(comparisons("x"), VALUES)
def test_an_operator_and_its_negation_never_both_hold(document: dict[str, Any], value: Any) -> None:
    opposite = {"==": "!=", "in": "not in", "contains": "not contains", "exists": "not exists"}
    opposite |= {"is empty": "is not empty", ">": "<=", "<": ">="}
    if document["op"] in opposite:
        other = document | {"op": opposite[document["op"]]}
        assert not (holds(parse(document), value) and holds(parse(other), value))
