"""The door for JSON: what passes, what is refused and where, and what is mended."""

from __future__ import annotations

import datetime
import json
import math
from collections import OrderedDict
from enum import IntEnum, StrEnum
from hashlib import sha256
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.kernel.errors import PayloadError
from holdfast.kernel.payload.encoding import decode, digest, encode, sanitise

good_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
any_text = st.text(st.characters(exclude_categories=[]))
good_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | good_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(good_text, inner, max_size=4),
    max_leaves=20,
)
keys = any_text | st.integers() | st.none() | st.booleans() | st.floats() | st.binary(max_size=4)
any_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | any_text
    | st.binary()
    | st.dates()
    | st.complex_numbers(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(keys, inner, max_size=4)
        | st.sets(st.integers(), max_size=3)
    ),
    max_leaves=20,
)


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Point(NamedTuple):
    x: int
    y: int


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no")


class BrokenDict(dict[str, object]):
    def values(self) -> Any:
        raise RuntimeError("broken")

    def items(self) -> Any:
        raise RuntimeError("broken")


def encode_or_error(value: object) -> str | PayloadError:
    try:
        return encode(value)
    except PayloadError as error:
        return error


def nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth - 1):
        value = [value]
    return value


def cycle() -> dict[str, object]:
    value: dict[str, object] = {"children": [1]}
    value["children"] = [1, {"parent": value}]
    return value


def shared(levels: int) -> list[object]:
    value: list[object] = [1]
    for _ in range(levels):
        value = [value, value]
    return value


@given(good_values)
def test_whatever_json_has_round_trips(value: object) -> None:
    text = encode(value)
    assert decode(text) == value
    assert encode(decode(text)) == text


@given(any_values)
def test_encode_gives_valid_json_or_a_payload_error(value: object) -> None:
    result = encode_or_error(value)
    if isinstance(result, PayloadError):
        assert result.field.startswith("payload")
        assert result.remedy
        assert str(result).isprintable()
    else:
        assert "\0" not in result
        assert json.loads(result.encode()) == json.loads(json.dumps(value))


@given(any_values, st.integers(-1, 300) | st.just(1_048_576))
def test_sanitise_never_raises_and_its_output_passes_the_door(value: object, max_bytes: int) -> None:
    text = sanitise(value, max_bytes=max_bytes)
    assert encode(decode(text), max_bytes=max(max_bytes, 5)) == text


@given(good_values)
def test_sanitise_leaves_healthy_values_alone(value: object) -> None:
    assert sanitise(value) == encode(value)


def test_text_is_compact_keeps_its_order_and_is_not_escaped() -> None:
    assert encode({"b": [1, 2.5, True, None], "a": "é€😀"}) == '{"b":[1,2.5,true,null],"a":"é€😀"}'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Colour.RED, '"red"'),
        ({Colour.RED: Level.HIGH}, '{"red":3}'),
        (Point(1, 2), "[1,2]"),
        (OrderedDict(a=1), '{"a":1}'),
        ("", '""'),
        ({}, "{}"),
        (nested(3), "[[[]]]"),
    ],
)
def test_subclasses_of_json_types_pass(value: object, text: str) -> None:
    assert encode(value) == text


@pytest.mark.parametrize("text", ["\\u0000", "\\\\u0000", "a\\u0000b", "\x01\x1f\x7f", "\ufffd\ufffe\U0010ffff"])
def test_text_that_only_looks_bad_passes(text: str) -> None:
    assert decode(encode({text: text})) == {text: text}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("a\0b", "holds a NUL character"),
        ("a\ud800b", "holds a lone surrogate"),
        (math.nan, "is nan, which JSON does not have"),
        (nested(10_000), "is nested deeper than 64 levels"),
        ("x" * 2 * 1_048_576, "is 2,097,154 bytes of JSON, over the limit of 1,048,576"),
    ],
    ids=["nul", "surrogate", "nan", "deep", "large"],
)
def test_the_five_bad_inputs(value: object, problem: str) -> None:
    with pytest.raises(PayloadError) as caught:
        encode(value)
    assert caught.value.problem == problem
    assert decode(sanitise(value)) is None or isinstance(decode(sanitise(value)), str | list)


@pytest.mark.parametrize(
    ("value", "field", "problem"),
    [
        ({"items": [0, 1, 2, {"name": "a\0"}]}, "payload.items[3].name", "holds a NUL character"),
        ({"a\0": 1}, r'payload["a\u0000"]', "has in its key a NUL character"),
        ({"a": {"\udfff": 1}}, r'payload.a["\udfff"]', "has in its key a lone surrogate"),
        ([1, -math.inf], "payload[1]", "is -inf, which JSON does not have"),
        ({"two words": math.inf}, 'payload["two words"]', "is inf, which JSON does not have"),
        ({"k" * 50: b""}, f'payload["{"k" * 40}\\u2026"]', "is of type bytes, which JSON does not have"),
        ({"a": [{1, 2}]}, "payload.a[0]", "is of type set, which JSON does not have"),
        (datetime.date(2024, 1, 1), "payload", "is of type date, which JSON does not have"),
        ({"o": Unprintable()}, "payload.o", "is of type Unprintable, which JSON does not have"),
        ({"a": [{1: 2}]}, "payload.a[0][<int>]", "has a key of type int, where JSON takes strings"),
        ({None: 2}, "payload[<NoneType>]", "has a key of type NoneType, where JSON takes strings"),
        ({True: 2}, "payload[<bool>]", "has a key of type bool, where JSON takes strings"),
        ({"a": 1, 1.5: 2}, "payload[<float>]", "has a key of type float, where JSON takes strings"),
        (cycle(), "payload.children[1].parent", "contains itself"),
        ([10**5000], "payload[0]", "is an integer of 16,610 bits, too long to print"),
    ],
)
def test_a_refusal_names_the_path_and_the_problem(value: object, field: str, problem: str) -> None:
    with pytest.raises(PayloadError) as caught:
        encode(value)
    assert (caught.value.field, caught.value.problem) == (field, problem)


def test_what_names_the_value() -> None:
    with pytest.raises(PayloadError, match=r"^result\.x holds a NUL character; remove it"):
        encode({"x": "\0"}, what="result")


def test_depth_and_size_are_allowed_up_to_their_limits() -> None:
    assert encode(nested(64)) == "[" * 64 + "]" * 64
    assert encode(nested(3), max_depth=3)
    assert encode("é", max_bytes=4) == '"é"'
    assert encode([1, [Level.HIGH]], max_depth=2) == "[1,[3]]"
    with pytest.raises(PayloadError, match="deeper than 64"):
        encode(nested(65))
    with pytest.raises(PayloadError, match="is 4 bytes of JSON, over the limit of 3"):
        encode("é", max_bytes=3)
    with pytest.raises(PayloadError, match="deeper than 0"):
        encode([], max_depth=0)


def test_the_same_object_twice_is_no_cycle() -> None:
    twin = ["x"]
    assert encode({"a": twin, "b": [twin]}) == '{"a":["x"],"b":[["x"]]}'


def test_shared_references_do_not_grow_without_bound() -> None:
    with pytest.raises(PayloadError, match="payload has too many bytes of JSON, over the limit of 5,000"):
        encode(shared(60), max_bytes=5_000)


def test_a_container_that_fails_when_it_is_read_is_a_payload_error() -> None:
    value = {"a": BrokenDict(b=1)}
    with pytest.raises(PayloadError, match="could not be encoded as JSON"):
        encode(value)
    assert decode(sanitise(value)) == {"a": "…[1 nested]"}


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a":-Infinity}', "1e999", "", "{", "'a'", "[" * 200_000])
def test_decode_refuses_what_is_no_json(text: str) -> None:
    with pytest.raises(PayloadError, match=r"^text is not readable as JSON"):
        decode(text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a\0b\ud800", "a\ufffdb\ufffd"),
        ([math.nan, math.inf, 1.5], [None, None, 1.5]),
        (
            {"b": b"xy", 1: "one", None: "none", "a\0": 2},
            {"b": "b'xy'", "1": "one", "None": "none", "a\ufffd": 2},
        ),
        (Unprintable(), "<Unprintable>"),
        ([10**5000], ["…[integer of 16610 bits]"]),
        ({Colour.RED: (Level.HIGH, math.nan)}, {"red": [3, None]}),
    ],
)
def test_sanitise_mends(value: object, expected: object) -> None:
    assert decode(sanitise(value)) == expected


def test_sanitise_bounds_what_a_foreign_object_prints() -> None:
    text = decode(sanitise(b"\0" * 1_000_000))
    assert isinstance(text, str)
    assert len(text) == 501
    assert text.endswith("…")


def test_sanitise_cuts_the_long_part_and_keeps_the_short_ones() -> None:
    value: dict[str, object] = {"message": "x" * 5_000, "code": "E_PARSE", "rows": list(range(5))}
    text = sanitise(value, max_bytes=1_000)
    assert len(text.encode()) <= 1_000
    kept = decode(text)
    assert isinstance(kept, dict)
    assert kept == {**value, "message": "x" * 500 + "…[4500 more]"}


def test_sanitise_marks_what_is_missing_of_containers() -> None:
    assert decode(sanitise(list(range(1_000)), max_bytes=100))[-1] == "…[975 more]"  # type: ignore[index]
    assert decode(sanitise({str(n): n for n in range(1_000)}, max_bytes=100))["…"] == "[988 more]"  # type: ignore[index]


def test_sanitise_cuts_depth_and_cycles() -> None:
    deep = sanitise(nested(10_000))
    assert deep == "[" * 64 + '"…[1 nested]"' + "]" * 64
    assert "nested]" in sanitise(cycle())
    assert len(sanitise(shared(60), max_bytes=2_000).encode()) <= 2_000


def test_sanitise_survives_a_stack_that_is_nearly_full() -> None:
    def sink() -> str:
        try:
            return sink()
        except RecursionError:
            return sanitise({"a": [{"b": math.nan}]})

    mended = sink()
    assert encode(decode(mended)) == mended


def test_digest_is_of_the_utf_8_bytes() -> None:
    assert digest("é") == sha256(b"\xc3\xa9").digest()
