"""Secrets stay out of what is said: by the name of a field, by the look of a value, and by values that are known.

`register` makes a value known: from then on it is hidden wherever it stands in a text, plain, URL-encoded or in
base64, alone or inside a longer encoding. Values of environment variables with a secret's name are known from the start
of a service; see `register_environment`.
"""

from __future__ import annotations

import base64
import logging
import re
import threading
from collections.abc import Iterable, Mapping, MutableMapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote, quote_plus, unquote

HIDDEN = "[redacted]"
SHORTEST = 6
"""A shorter value cannot be told from other text: hiding it would shred what is said."""
DEEPEST = 8
FOLDERS = frozenset({"PWD", "OLDPWD"})
"""Variables that are named like a password and hold the folder that one works in."""

_NAME = (
    r"authorization|passw(?:or)?d|pwd|passphrase|passcode|secrets?|token|cookies?|credentials?|bearer|jwt|signature|sig"
    r"|(?:api|private|access|secret|signing|encryption|auth|session)[-_. ]?keys?|session[-_. ]?id"
)
_FIELD = re.compile(rf"(?i)(?<![a-z0-9])(?:{_NAME})(?![a-z0-9])")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ONCE = r"(?!\[redacted)"

# Each keeps what says what it was, and hides the rest. None looks back over more than a word: they run on every line.
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S), HIDDEN),
    (re.compile(rf"(?i)((?:authorization|cookie)[\"']?\s*(?:=>|[:=])\s*+[\"']?+){_ONCE}[^\r\n\"']+"), rf"\1{HIDDEN}"),
    (re.compile(rf"(?i)\b(bearer(?:\s+|%20|\+)){_ONCE}[A-Za-z0-9._~+/=%-]{{6,}}"), rf"\1{HIDDEN}"),
    (re.compile(r"\b([Bb]asic\s+)(?=\S*(?:[0-9=]|[a-z][A-Z]))[A-Za-z0-9+/_-]{6,}={0,2}"), rf"\1{HIDDEN}"),
    (re.compile(rf"(://[^\s/:@?#\"'<>]*):{_ONCE}[^\s/?#\"'<>]+@"), rf"\1:{HIDDEN}@"),
    (
        re.compile(
            rf"((?:(?<![A-Za-z0-9])(?i:{_NAME})|(?<=[a-z0-9])(?:Password|Passwd|Secret|Token|Key|Cookie|Credential))"
            rf"\\?[\"']?\s*(?:=>|[:=]|%3[Dd])\s*+){_ONCE}(\"[^\"]*\"|'[^']*'|[^\s,;&}}\])\"']+)"
        ),
        rf"\1{HIDDEN}",
    ),
    (
        re.compile(
            r"\b(?:hf_[\w-]{8,}|sk-[\w-]{16,}|[rs]k_(?:live|test)_\w{8,}|gh[pousr]_\w{16,}|github_pat_\w{20,}"
            r"|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{30,}|npm_\w{20,}"
            r"|pypi-[\w-]{16,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"
        ),
        HIDDEN,
    ),
)

_lock = threading.Lock()
_known: set[str] = set()
_forms: re.Pattern[str] | None = None


def register(*values: str) -> None:
    """Hide these values from now on. ValueError for one that is too short to be told from other text."""
    global _forms  # noqa: PLW0603 - what is secret is secret for the whole process
    for value in values:
        if len(value) < SHORTEST:
            raise ValueError(f"a secret of {len(value)} characters cannot be hidden: use {SHORTEST} or more")
    with _lock:
        if _known.issuperset(values):
            return
        _known.update(values)
        forms = {form for value in _known for form in _forms_of(value)}
        _forms = re.compile("|".join(map(re.escape, sorted(forms, key=len, reverse=True))))


def register_environment(environment: Mapping[str, str]) -> None:
    """Hide the values of variables that are named like secrets, and the passwords of addresses."""
    found = [value for name, value in environment.items() if is_secret(name) and name not in FOLDERS]
    for value in environment.values():
        found += _passwords(value)
    register(*(value for value in found if len(value) >= SHORTEST))


def register_url(url: str) -> None:
    """Hide the password of a database's address, where it has one."""
    register(*(password for password in _passwords(url) if len(password) >= SHORTEST))


def forget() -> None:
    """Know of no values any more. For tests."""
    global _forms  # noqa: PLW0603 - as in register
    with _lock:
        _known.clear()
        _forms = None


@lru_cache(maxsize=4096)
def is_secret(name: str) -> bool:
    """Whether a field of this name holds a secret: X-Api-Key, dbPassword and set-cookie do, max_tokens does not."""
    return _FIELD.search(_HUMP.sub("_", name)) is not None


def text(raw: str) -> str:
    """A text without secrets."""
    if _forms is not None:
        raw = _forms.sub(HIDDEN, raw)
    for pattern, instead in _PATTERNS:
        raw = pattern.sub(instead, raw)
    return raw


def value(raw: Any, depth: int = 0) -> Any:
    """Any value without secrets, as plain data: what is neither text, number nor container becomes its repr."""
    if raw is None or isinstance(raw, (bool, int, float)):
        return raw
    if isinstance(raw, str):
        return text(raw)
    if depth >= DEEPEST:
        return text(repr(raw))
    if isinstance(raw, Mapping):
        return fields(raw, depth + 1)
    if isinstance(raw, (list, tuple, set, frozenset)):
        return [value(item, depth + 1) for item in raw]
    if isinstance(raw, (bytes, bytearray)):
        return text(bytes(raw).decode("utf-8", "replace"))
    return text(repr(raw))


def fields(raw: Mapping[Any, Any], depth: int = 0) -> dict[str, Any]:
    """Named values without secrets: a field that is named like one is hidden whatever it holds."""
    clean = {}
    for name, held in raw.items():
        hide = held is not None and not isinstance(held, bool) and is_secret(str(name))
        clean[_shown(str(name))] = HIDDEN if hide else value(held, depth)
    return clean


def _shown(name: str) -> str:
    return name if _forms is None else _forms.sub(HIDDEN, name)


def processor(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> dict[str, Any]:
    """The same for structlog."""
    kept = {name: event.pop(name) for name in ("exc_info", "stack_info") if name in event}
    return fields(event) | kept


class RecordFilter(logging.Filter):
    """The same for the standard library's handlers: whatever a record says, it says without secrets."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = text(record.getMessage()), ()
        if record.exc_info:
            record.exc_text = text(logging.Formatter().formatException(record.exc_info))
        return True


def _forms_of(secret: str) -> Iterable[str]:
    """Every way that a value may be written."""
    yield secret
    quoted = {quote(secret, safe=""), quote(secret), quote_plus(secret)}
    yield from quoted
    yield from (re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), form) for form in quoted)
    if (escaped := repr(secret)[1:-1]) != secret:
        yield escaped
    raw = secret.encode("utf-8", "surrogatepass")
    for shift in range(3):
        # Inside a longer encoding it starts at one of three places; its first and last letters depend on neighbours.
        letters = base64.b64encode(bytes(shift) + raw)
        core = letters[-(-shift * 8 // 6) : (shift + len(raw)) * 8 // 6].decode()
        if len(core) >= SHORTEST:
            yield core
            yield core.replace("+", "-").replace("/", "_")


def _passwords(address: str) -> list[str]:
    found = re.findall(r"://[^\s/:@?#]*:([^\s/?#]+)@", address)
    found += re.findall(r"(?i)[?&]password=([^&#\s]+)", address)
    return [form for password in found for form in {password, unquote(password)}]
