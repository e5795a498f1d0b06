"""From an error code or an exception to the class that says how the failure is treated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Final, NamedTuple

from holdfast.kernel.errors import ErrorClass

__all__ = [
    "ANTI_BOT_SIGNALS",
    "PERMANENT_CODES",
    "PUBLIC_CODES",
    "TRANSIENT_CODES",
    "Classifier",
    "ErrorClass",
    "PublicCode",
    "error_class_of",
    "fingerprint",
    "retryable",
]

TRANSIENT_CODES: Final = frozenset(
    {
        "network_error",
        "rate_limited",
        "browser_crash",
        "timeout_soft",
        "qdrant_unavailable",
        "neo4j_write_lock",
    }
)
PERMANENT_CODES: Final = frozenset(
    {"invalid_url", "robots_disallowed", "parse_error_strict", "unsupported_mime", "bad_request"}
)
ANTI_BOT_SIGNALS: Final = frozenset({"captcha", "403_waf", "503_shield"})


class PublicCode(NamedTuple):
    """The class of a code shown to callers and, where there is one, the internal code behind it."""

    error_class: ErrorClass
    cause: str | None = None


PUBLIC_CODES: Final[Mapping[str, PublicCode]] = {
    "E_URL_BAD": PublicCode(ErrorClass.PERMANENT, "invalid_url"),
    "E_ROBOTS": PublicCode(ErrorClass.PERMANENT, "robots_disallowed"),
    "E_403_WAF": PublicCode(ErrorClass.ANTI_BOT, "403_waf"),
    "E_429_RATE": PublicCode(ErrorClass.TRANSIENT, "rate_limited"),
    "E_5XX_ORIGIN": PublicCode(ErrorClass.TRANSIENT),
    "E_PARSE": PublicCode(ErrorClass.PERMANENT, "parse_error_strict"),
    "E_TIMEOUT": PublicCode(ErrorClass.TRANSIENT, "timeout_soft"),
    "E_BROWSER": PublicCode(ErrorClass.TRANSIENT, "browser_crash"),
    "E_QDRANT": PublicCode(ErrorClass.TRANSIENT, "qdrant_unavailable"),
    "E_NEO4J": PublicCode(ErrorClass.TRANSIENT, "neo4j_write_lock"),
    # Jobs share a GPU, so memory comes back when a neighbour ends; what never fits runs out of tries.
    "E_GPU_OOM": PublicCode(ErrorClass.TRANSIENT),
}

# Both names of one failure share one entry, so that an override of either can never split them.
_CAUSE_OF: Final = {code: public.cause for code, public in PUBLIC_CODES.items() if public.cause}
_BUILT_IN: Final[Mapping[str, ErrorClass]] = {
    **dict.fromkeys(TRANSIENT_CODES, ErrorClass.TRANSIENT),
    **dict.fromkeys(PERMANENT_CODES, ErrorClass.PERMANENT),
    **dict.fromkeys(ANTI_BOT_SIGNALS, ErrorClass.ANTI_BOT),
    **{code: public.error_class for code, public in PUBLIC_CODES.items() if public.cause is None},
}


class Classifier:
    """The built-in codes together with a user's own; it does not change once built.

    `own` adds codes, `override` changes the class of built-in ones (of a public code and its cause alike).
    ValueError for a contradiction: an own code that is built in with another class, an override of a code
    that is not built in, two classes for one failure, or a class that does not exist.
    """

    __slots__ = ("_class_by_code",)

    def __init__(
        self,
        own: Mapping[str, ErrorClass | str] | None = None,
        *,
        override: Mapping[str, ErrorClass | str] | None = None,
    ) -> None:
        added = _by_cause(own or {})
        changed = _by_cause(override or {})
        for code, error_class in added.items():
            if _BUILT_IN.get(code, error_class) is not error_class:
                raise ValueError(f"{code!r} is built in as {_BUILT_IN[code]}; pass it in `override` to change it")
        for code in changed:
            if code not in _BUILT_IN:
                raise ValueError(f"{code!r} is not built in, so there is nothing to override")
            if added.get(code, changed[code]) is not changed[code]:
                raise ValueError(f"{code!r} is given as {added[code]} and overridden as {changed[code]}")
        self._class_by_code = {**_BUILT_IN, **added, **changed}

    def classify(self, code: str) -> ErrorClass | None:
        """The class of `code`, or None for a code that nobody declared."""
        return self._class_by_code.get(_CAUSE_OF.get(code, code))


def retryable(error_class: ErrorClass) -> bool:
    """Whether a failure of this class is worth another try."""
    return error_class in (ErrorClass.TRANSIENT, ErrorClass.ANTI_BOT)


def error_class_of(exc: BaseException, classifier: Classifier) -> ErrorClass:
    """The exception's own `error_class`, else the class of its `code`, else transient.

    Any exception may carry the two attributes. Unknown failures are retried: the tries are bounded, a job
    given up too early is lost.
    """
    explicit = _attribute(exc, "error_class")
    if isinstance(explicit, ErrorClass):
        return explicit
    code = _attribute(exc, "code")
    known = classifier.classify(code) if isinstance(code, str) else None
    return known or ErrorClass.TRANSIENT


_VARIABLE_PART = re.compile(
    r"""
      (?P<quoted> (?<!\w) (?: '(?:[^'\\\n]|\\.)*' | "(?:[^"\\\n]|\\.)*" | `[^`\n]*` ) (?!\w) )
    | (?P<url>    \b [a-z][a-z0-9+.-]{0,15}:// [^\s'"<>]+ )
    | (?P<path>   (?<![\w/.<-]) (?: (?:[a-z]:|~|\.\.?)? (?:[\\/][^\s\\/:;,'"()<>]+)+ [\\/]?
                               | [\w.-]+ (?:/[\w.-]+)+ \.\w{1,5}\b ) )
    | (?P<uuid>   \b [0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12} \b )
    | (?P<hex>    \b 0x[0-9a-f]+ \b | \b (?=[a-f]*[0-9]) (?=[0-9]*[a-f]) [0-9a-f]{8,} \b )
    | (?P<number> [0-9]+ (?:[.,:][0-9]+)* )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_READ_CHARACTERS = 4096


def fingerprint(code: str, message: str) -> str:
    """Sixteen hex digits, equal where messages differ only in numbers, ids, quotes, paths and URLs."""
    shape = _VARIABLE_PART.sub(lambda found: f"<{found.lastgroup}>", message[:_READ_CHARACTERS])
    return sha256(f"{code}\0{shape}".encode(errors="replace")).hexdigest()[:16]


def _by_cause(classes: Mapping[str, ErrorClass | str]) -> dict[str, ErrorClass]:
    found: dict[str, ErrorClass] = {}
    for code, name in classes.items():
        try:
            error_class = ErrorClass(name)
        except ValueError:
            raise ValueError(f"{code!r}: {name!r} is no error class of {', '.join(ErrorClass)}") from None
        cause = _CAUSE_OF.get(code, code)
        if found.setdefault(cause, error_class) is not error_class:
            raise ValueError(f"{code!r} and its other name {cause!r} are given different classes")
    return found


def _attribute(exc: BaseException, name: str) -> object:
    try:
        return getattr(exc, name, None)
    except Exception:  # a foreign exception's property may fail, and a failure must still be classified
        return None
