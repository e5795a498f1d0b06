"""Each code and each exception has one class; equal failures have one fingerprint."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.kernel import errors
from holdfast.kernel.classify import (
    ANTI_BOT_SIGNALS,
    PERMANENT_CODES,
    PUBLIC_CODES,
    TRANSIENT_CODES,
    Classifier,
    ErrorClass,
    error_class_of,
    fingerprint,
    retryable,
)

BUILT_IN = Classifier()


@pytest.mark.rule("C06")
@pytest.mark.parametrize(
    "code",
    [
        "network_error",
        "rate_limited",
        "browser_crash",
        "timeout_soft",
        "qdrant_unavailable",
        "neo4j_write_lock",
    ],
)
def test_transient_codes_are_retried(code: str) -> None:
    assert code in TRANSIENT_CODES
    assert BUILT_IN.classify(code) is ErrorClass.TRANSIENT
    assert retryable(ErrorClass.TRANSIENT)


@pytest.mark.rule("C07")
@pytest.mark.parametrize(
    "code", ["invalid_url", "robots_disallowed", "parse_error_strict", "unsupported_mime", "bad_request"]
)
def test_permanent_codes_are_not_retried(code: str) -> None:
    assert code in PERMANENT_CODES
    assert BUILT_IN.classify(code) is ErrorClass.PERMANENT
    assert not retryable(ErrorClass.PERMANENT)


@pytest.mark.parametrize("code", ["captcha", "403_waf", "503_shield"])
def test_anti_bot_signals_are_their_own_class_and_retried(code: str) -> None:
    assert code in ANTI_BOT_SIGNALS
    assert BUILT_IN.classify(code) is ErrorClass.ANTI_BOT
    assert retryable(ErrorClass.ANTI_BOT)


@pytest.mark.rule("C12")
@pytest.mark.parametrize(
    ("code", "expected", "cause"),
    [
        ("E_URL_BAD", ErrorClass.PERMANENT, "invalid_url"),
        ("E_ROBOTS", ErrorClass.PERMANENT, "robots_disallowed"),
        ("E_403_WAF", ErrorClass.ANTI_BOT, "403_waf"),
        ("E_429_RATE", ErrorClass.TRANSIENT, "rate_limited"),
        ("E_5XX_ORIGIN", ErrorClass.TRANSIENT, None),
        ("E_PARSE", ErrorClass.PERMANENT, "parse_error_strict"),
        ("E_TIMEOUT", ErrorClass.TRANSIENT, "timeout_soft"),
        ("E_BROWSER", ErrorClass.TRANSIENT, "browser_crash"),
        ("E_QDRANT", ErrorClass.TRANSIENT, "qdrant_unavailable"),
        ("E_NEO4J", ErrorClass.TRANSIENT, "neo4j_write_lock"),
        ("E_GPU_OOM", ErrorClass.TRANSIENT, None),
    ],
)
def test_each_public_code_has_one_class_and_its_cause(code: str, expected: ErrorClass, cause: str | None) -> None:
    assert PUBLIC_CODES[code] == (expected, cause)
    assert BUILT_IN.classify(code) is expected
    assert cause is None or BUILT_IN.classify(cause) is expected


@pytest.mark.rule("C12")
def test_no_code_is_in_two_tables() -> None:
    tables = [TRANSIENT_CODES, PERMANENT_CODES, ANTI_BOT_SIGNALS, PUBLIC_CODES.keys()]
    assert len(set().union(*tables)) == sum(map(len, tables))
    assert len(PUBLIC_CODES) == 11


def test_an_undeclared_code_has_no_class() -> None:
    assert BUILT_IN.classify("no_such_code") is None


def test_a_users_own_codes_stand_beside_the_built_in_ones() -> None:
    classifier = Classifier({"disk_full": "transient", "bad_invoice": ErrorClass.VALIDATION, "captcha": "anti_bot"})
    assert classifier.classify("disk_full") is ErrorClass.TRANSIENT
    assert classifier.classify("bad_invoice") is ErrorClass.VALIDATION
    assert classifier.classify("rate_limited") is ErrorClass.TRANSIENT


def test_a_classifier_keeps_its_table_when_the_users_changes() -> None:
    own: dict[str, ErrorClass | str] = {"disk_full": "transient"}
    classifier = Classifier(own)
    own["disk_full"] = "permanent"
    assert classifier.classify("disk_full") is ErrorClass.TRANSIENT


@pytest.mark.parametrize("code", ["rate_limited", "E_429_RATE"])
def test_an_override_holds_for_both_names_of_a_failure(code: str) -> None:
    classifier = Classifier(override={code: "permanent"})
    assert classifier.classify("rate_limited") is ErrorClass.PERMANENT
    assert classifier.classify("E_429_RATE") is ErrorClass.PERMANENT
    assert BUILT_IN.classify("rate_limited") is ErrorClass.TRANSIENT


@pytest.mark.parametrize(
    ("own", "override", "message"),
    [
        ({"rate_limited": "permanent"}, {}, "built in as transient; pass it in `override`"),
        ({"E_PARSE": "transient"}, {}, "built in as permanent"),
        ({}, {"rate_limitd": "permanent"}, "nothing to override"),
        ({}, {"rate_limited": "permanent", "E_429_RATE": "transient"}, "different classes"),
        ({"captcha": "anti_bot"}, {"captcha": "permanent"}, "given as anti_bot and overridden as permanent"),
        ({"disk_full": "sometimes"}, {}, "'sometimes' is no error class"),
    ],
)
def test_a_contradiction_is_never_silent(
    own: dict[str, ErrorClass | str], override: dict[str, ErrorClass | str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Classifier(own, override=override)


@pytest.mark.rule("D26")
@pytest.mark.parametrize(
    ("kind", "expected", "retried"),
    [
        (errors.ValidationError, ErrorClass.VALIDATION, False),
        (errors.TransientError, ErrorClass.TRANSIENT, True),
        (errors.PermanentError, ErrorClass.PERMANENT, False),
        (errors.LeaseConflictError, ErrorClass.LEASE_CONFLICT, False),
    ],
)
def test_the_four_public_error_classes(kind: type[errors.TaskError], expected: ErrorClass, retried: bool) -> None:
    assert error_class_of(kind("boom"), BUILT_IN) is expected
    assert retryable(expected) is retried


@pytest.mark.rule("D26")
def test_an_explicit_class_wins_over_the_code() -> None:
    assert error_class_of(errors.TransientError("x", code="invalid_url"), BUILT_IN) is ErrorClass.TRANSIENT


def test_a_code_decides_where_no_class_is_given() -> None:
    assert error_class_of(errors.TaskError("x", code="E_URL_BAD"), BUILT_IN) is ErrorClass.PERMANENT
    assert error_class_of(errors.TaskError("x", code="mine"), Classifier({"mine": "validation"})) == "validation"


class Foreign(Exception):
    """An exception of somebody else's library."""

    def __init__(self, code: object) -> None:
        self.code = code


class Broken(Exception):
    """An exception whose attributes fail."""

    @property
    def code(self) -> str:
        raise RuntimeError("not today")


@pytest.mark.parametrize(
    ("exc", "expected"),
    [
        (Foreign("invalid_url"), ErrorClass.PERMANENT),
        (Foreign(404), ErrorClass.TRANSIENT),
        (Foreign("gone_fishing"), ErrorClass.TRANSIENT),
        (Broken(), ErrorClass.TRANSIENT),
        (ValueError("x"), ErrorClass.TRANSIENT),
        (KeyboardInterrupt(), ErrorClass.TRANSIENT),
        (errors.PayloadError(field="payload", problem="is bad", remedy="mend it"), ErrorClass.VALIDATION),
    ],
)
def test_foreign_and_unknown_exceptions(exc: BaseException, expected: ErrorClass) -> None:
    assert error_class_of(exc, BUILT_IN) is expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("row 17 of 2000 failed", "row 3 of 9 failed"),
        ("took 1.5 s", "took 20 s"),
        ("job 0b6f7a1c-9d3e-4c55-8a52-0f1d2c3b4a59 lost", "job FFFFFFFF-0000-4000-8000-000000000001 lost"),
        ("object at 0x7f3a2b", "object at 0xdeadbeef"),
        ("commit 3f2a9c1d77e0 is missing", "commit 99bd01c2aa is missing"),
        ("no column 'name'", "no column 'first name'"),
        ("key 'it\\'s' gone", "key 'a' gone"),
        ('unexpected "a b"', 'unexpected ""'),
        ("cannot open /var/lib/a.db: denied", "cannot open /tmp/x/y.db: denied"),
        ("cannot open ./a.db", "cannot open src/deep/down/x.py"),
        (r"cannot open C:\data\a.txt", r"cannot open D:\b.txt"),
        ("GET https://a.example/x?y=1 failed", "GET http://b.example failed"),
        ("connect to 10.0.0.1:5432", "connect to 127.0.0.1:80"),
    ],
)
def test_failures_that_differ_only_in_variable_parts_share_a_fingerprint(one: str, other: str) -> None:
    assert fingerprint("code", one) == fingerprint("code", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("connection refused", "connection reset"),
        ("can't open it, won't close it", "can't read it, won't close it"),
        ("wrong type text/html", "wrong type image/png"),
        ("the cafe is added", "the facade is added"),
    ],
)
def test_failures_that_differ_in_words_do_not(one: str, other: str) -> None:
    assert fingerprint("code", one) != fingerprint("code", other)


def test_a_fingerprint_depends_on_the_code_and_is_stable() -> None:
    assert fingerprint("a", "boom 1") != fingerprint("b", "boom 1")
    assert fingerprint("timeout_soft", "no answer after 30 s") == "c0cf9549b651d014"


@given(st.text(), st.text(st.characters(), max_size=200))
def test_any_text_has_a_fingerprint(code: str, message: str) -> None:
    assert len(bytes.fromhex(fingerprint(code, message))) == 8


@pytest.mark.parametrize("piece", ["'a", "/a", "a/", "f0", "1.", "\\", "'\\", "\ud800"])
def test_hostile_messages_are_quick(piece: str) -> None:
    assert len(fingerprint("code", piece * 100_000)) == 16
