"""Browsers: whoever visits a page must not thereby work the engine. CORS is off; this is the rest of it."""

from __future__ import annotations

from collections.abc import Collection

from starlette.datastructures import Headers

from holdfast.api.problems.kinds import Problem

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
OURS = ("same-origin", "none")
"""What Sec-Fetch-Site says of our own pages, and of what a person typed."""


def check_host(headers: Headers, known: Collection[str] | None) -> None:
    """Refuse a Host that is not ours: a name that an attacker made to mean 127.0.0.1 is how pages reach it."""
    if known is None:
        return
    host = headers.get("host", "")
    if name_of(host) not in known:
        detail = f"the Host header says {host[:100]!r}; this server answers to {', '.join(sorted(known))}"
        raise Problem("misdirected", detail, field="Host", allowed=sorted(known))


def check_origin(method: str, headers: Headers) -> None:
    """Refuse a change that a page of another origin sent."""
    if method in SAFE:
        return
    origin = headers.get("origin")
    if origin is not None:
        scheme, mark, host = origin.partition("://")
        if not mark or scheme not in ("http", "https") or host.lower() != headers.get("host", "").lower():
            raise _foreign(f"the page is of {origin[:100]!r}")
    elif headers.get("sec-fetch-site", "none") not in OURS:
        raise _foreign("the page is of another site")


def check_unsafe_get(headers: Headers) -> None:
    """Refuse a GET that changes something to anything that looks like a browser."""
    looks = "origin" in headers or any(name.startswith("sec-fetch-") for name in headers)
    # Every browser says so of itself, and without TLS an image's GET has no other mark of one.
    looks = looks or "mozilla/" in headers.get("user-agent", "").lower()
    if looks or "text/html" in headers.get("accept", ""):
        raise Problem(
            "method_not_allowed",
            "a browser must POST this: links do not change things",
            allowed=["POST"],
            headers={"Allow": "POST"},
        )


def name_of(host: str) -> str:
    """A Host header's name: without its port, and without the brackets of IPv6."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _foreign(what: str) -> Problem:
    return Problem(
        "forbidden_origin", f"{what}, and changes are taken from this server's own pages only", field="Origin"
    )
