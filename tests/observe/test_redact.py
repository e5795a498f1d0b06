"""Secrets do not get into what is logged: by their field's name, by their look, and by their value in any form."""

import base64
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from holdfast.observe import redact
from tests.observe.leaky import CANARIES, forms

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("form", ["json", "text"])
def test_twenty_canaries_and_none_gets_out(form: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.observe.leaky", form],
        cwd=ROOT,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = done.stdout + done.stderr
    assert (done.returncode, done.stdout) == (1, "")
    assert said.count(redact.HIDDEN) >= len(CANARIES), said
    for event in ("by_key", "nested", "base64", "uncaught_in_thread", "uncaught", "deprecated"):
        assert event in said
    assert [canary for canary in CANARIES for shown in forms(canary) if shown in said] == []
    assert "hf_xxx" not in said
    if form == "json":
        assert len([json.loads(line) for line in done.stderr.splitlines()]) == len(CANARIES) + 2


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("authorization", True),
        ("Proxy-Authorization", True),
        ("X-Api-Key", True),
        ("apiKey", True),
        ("set-cookie", True),
        ("HF_TOKEN", True),
        ("dbPassword", True),
        ("client_secret", True),
        ("AWS_SECRET_ACCESS_KEY", True),
        ("session_id", True),
        ("key", False),
        ("max_tokens", False),
        ("design", False),
        ("job_id", False),
        ("secretary", False),
    ],
)
def test_fields_by_name(name: str, secret: bool) -> None:
    assert redact.is_secret(name) is secret
    shown = redact.fields({name: "abc", "other": 1})
    assert shown == {name: redact.HIDDEN if secret else "abc", "other": 1}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Authorization: Bearer abc.def-ghi", "Authorization: [redacted]"),
        ("sent bearer abcdefgh on", "sent bearer [redacted] on"),
        ("GET /x?token=abcdef&page=2", "GET /x?token=[redacted]&page=2"),
        ("postgresql://app:pa:ss@db:5432/jobs", "postgresql://app:[redacted]@db:5432/jobs"),
        ("redis://:hunter2@cache", "redis://:[redacted]@cache"),
        ("key hf_abcdefgh12345 leaked", "key [redacted] leaked"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "[redacted]"),
        ('{"password": "a b c", "user": "x"}', '{"password": [redacted], "user": "x"}'),
        ("AWS_SECRET_ACCESS_KEY=abc123 make", "AWS_SECRET_ACCESS_KEY=[redacted] make"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "[redacted]"),
        ("Set-Cookie: sid=1; HttpOnly\nnext", "Set-Cookie: [redacted]\nnext"),
        ("the basic idea is a token of thanks", "the basic idea is a token of thanks"),
        ("see https://example.test/a:b@c and mail me@example.test", None),
        ("key=orders-17 queue=default", None),
        ("max_tokens: 512", None),
    ],
)
def test_texts_by_their_look(text: str, shown: str | None) -> None:
    assert redact.text(text) == (text if shown is None else shown)
    assert redact.text(redact.text(text)) == redact.text(text), "hiding twice changes nothing"


def test_values_that_are_known_are_hidden_in_every_form() -> None:
    secret = "s3cr/t?wörd+x"
    redact.register(secret)
    for around in ("", "u:", "ab:", "user:"):
        body = f"{around}{secret}!"
        raw = body.encode()
        written = [body, quote(body, safe=""), quote_plus(body), repr(body), json.dumps(body, ensure_ascii=False)]
        written += [base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode()]
        for text in written:
            assert any(form in text for form in forms(secret))
            said = redact.text(f"before {text} after")
            assert [form for form in forms(secret) if form in said] == []
    assert redact.text("before and after") == "before and after"


def test_a_value_that_is_too_short_is_refused() -> None:
    with pytest.raises(ValueError, match="6 or more"):
        redact.register("abc")
    assert redact.text("abcdef abc") == "abcdef abc"


def test_the_environment_knows_secrets() -> None:
    redact.register_environment(
        {
            "MY_API_KEY": "first-value",
            "HOME": "/home/someone",
            "DATABASE_URL": "postgresql://app:sec%2Fond@db/x",
            "SHORT_TOKEN": "abc",
            "PWD": "/srv/shop",
            "OLDPWD": "/srv/shop/jobs",
            "DB_PWD": "third-value",
        }
    )
    assert redact.text("first-value and sec/ond and sec%2Fond") == " and ".join([redact.HIDDEN] * 3)
    assert redact.text("third-value") == redact.HIDDEN
    for plain in ("/home/someone abc", "sqlite:////srv/shop/jobs.db", "/srv/shop/jobs"):
        assert redact.text(plain) == plain


@pytest.mark.slow
def test_long_texts_cost_little() -> None:
    """No pattern looks at the same letters again and again: a megabyte is a second's work, not a day's."""
    redact.register("some-secret-value")
    for part in ("a-", "a", "://", "passwd", "cookie ", "bearer ", "eyJ", '\\"', "token" + " " * 50):
        text = part * (300_000 // len(part))
        began_s = time.perf_counter()
        redact.text(text)
        assert time.perf_counter() - began_s < 3, part
