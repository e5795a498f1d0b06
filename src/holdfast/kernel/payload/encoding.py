"""The door for JSON: what passes here can be stored, read and compared by every database and client.

`encode` refuses with the path of the culprit; `sanitise` never refuses and mends instead.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Never, TypeAlias

from holdfast.kernel.errors import PayloadError
from holdfast.kernel.payload.mend import mend
from holdfast.kernel.payload.problem import find_problem, too_many_bytes

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"

MAX_BYTES = 1_048_576
MAX_DEPTH = 64

_SCALARS = frozenset({str, int, float, bool, type(None)})
_SEQUENCES = (list, tuple)
_CUT = '"…"'


def encode(value: object, *, what: str = "payload", max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> str:
    """`value` as compact JSON, or PayloadError that names the path, the problem and the remedy.

    Refused are NaN and infinities, NUL characters, lone surrogates, keys that are no strings, types that JSON
    does not have, cycles, nesting deeper than `max_depth` and more than `max_bytes` of UTF-8. `what` is the
    name of the value in the path.
    """
    # A healthy value costs one look at its containers and one at its text; the exact walk is for suspects.
    try:
        if not _has_plain_shape(value, max_bytes, max_depth):
            _refuse_if_bad(value, what, max_bytes, max_depth)
        text = _encode(value)
        size_bytes = len(text) if text.isascii() else len(text.encode())
        # The escape of NUL; or text that spells a backslash and u0000, which is fine, and the walk tells.
        if "\\u0000" in text:
            _refuse_if_bad(value, what, max_bytes, max_depth)
    except PayloadError:
        raise
    except Exception as error:
        raise _explain(error, value, what, max_bytes, max_depth) from error
    if size_bytes > max_bytes:
        raise too_many_bytes(what, max_bytes, size_bytes)
    return text


def decode(text: str) -> object:
    """The value of a JSON text, or PayloadError; NaN, infinities and numbers beyond a float are refused.

    Only the syntax is checked: what comes from outside goes through `encode` before it is stored.
    """
    try:
        return _decode(text)
    except (ValueError, RecursionError) as error:
        raise PayloadError(
            field="text", problem=f"is not readable as JSON ({error})", remedy="send valid JSON"
        ) from error


def sanitise(value: object, *, max_bytes: int = MAX_BYTES) -> str:
    """`value` as JSON that `encode` would accept, whatever it is: for results and errors, which must be kept.

    NUL and lone surrogates become U+FFFD, NaN and infinities null, foreign types their repr, and what is too
    long or too deep is cut with a marker that says how much is missing. It never raises; a `max_bytes` below
    the 5 bytes of the shortest marker counts as 5.
    """
    try:
        return encode(value, max_bytes=max_bytes)
    except Exception:  # a PayloadError, or no stack left to make one
        limit = max_bytes
    # One limit for strings, items and levels, lowered until the whole fits, cuts the largest parts first.
    while limit > 0:
        try:
            mended = mend(value, limit=limit, max_size=max_bytes, max_depth=MAX_DEPTH)
            return encode(mended, max_bytes=max_bytes)
        except Exception:  # also of a foreign object that fails while it is read; then less of it is read
            limit //= 2
    return _CUT


def digest(text: str) -> bytes:
    """The SHA-256 of the text's UTF-8 bytes."""
    return sha256(text.encode()).digest()


def _has_plain_shape(value: object, max_bytes: int, max_depth: int) -> bool:
    scalars = _SCALARS
    if type(value) in scalars:
        return True
    level: list[Any] = [value]
    room = max_bytes
    for _ in range(max_depth):
        below: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is dict or isinstance(item, dict):
                # Fails on a key that is no string (the encoder would convert it silently), at C speed.
                "".join(item)
                children: Any = item.values()
            elif kind is list or isinstance(item, _SEQUENCES):
                children = item
            else:
                continue
            # Each child is a byte of text or more; without this, shared references could grow without bound.
            room -= len(item)
            if room < 0:
                return False
            for child in children:
                if type(child) not in scalars:
                    below.append(child)
        if not below:
            return True
        level = below
    return False


def _refuse_if_bad(value: object, what: str, max_bytes: int, max_depth: int) -> None:
    problem = find_problem(value, what, max_bytes, max_depth)
    if problem is not None:
        raise problem


def _explain(error: Exception, value: object, what: str, max_bytes: int, max_depth: int) -> PayloadError:
    try:
        problem = find_problem(value, what, max_bytes, max_depth)
    except Exception:  # a subclass of a container that fails when it is read
        problem = None
    return problem or PayloadError(
        field=what,
        problem=f"could not be encoded as JSON ({type(error).__name__}: {error})",
        remedy="pass plain dicts, lists, strings, numbers, booleans and None",
    )


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} is not JSON")


def _finite_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is beyond the largest number")
    return number


# Cycles are excluded by the depth check, so the encoder need not look for them.
_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":")).encode
_decode = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite_float).decode


def plain(name: str, text: str) -> bytes:
    """The digest of a text that both databases can hold; PayloadError for one that one of them cannot."""
    if "\x00" in text:
        raise PayloadError(field=name, problem="contains a NUL character", remedy="remove it")
    try:
        return digest(text)
    except UnicodeEncodeError:
        raise PayloadError(
            field=name, problem="contains a lone surrogate", remedy="use text that UTF-8 can hold"
        ) from None
