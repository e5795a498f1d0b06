"""A process that does everything to let secrets slip into its log. Run as `… json|text`."""

import base64
import logging
import sys
import threading
import warnings
from collections.abc import Callable
from urllib.parse import quote, quote_plus

from holdfast.observe import redact
from holdfast.observe.logs import get_logger, set_up

CANARIES = [f"canary/{n:02d}+{n * 7919 % 9973:04d}" for n in range(20)]
"""Each with letters that URLs and base64 write otherwise."""


def forms(secret: str) -> list[str]:
    """Ways in which a secret may show; in base64 also inside a longer text, at each of the three places."""
    found = [secret, quote(secret, safe=""), quote_plus(secret), repr(secret)[1:-1]]
    for around in ("", "u:", "ab:"):
        raw = (around + secret + "!").encode()
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            found.append(encode(raw).decode()[4:-4])
    return found


def leaks() -> list[Callable[[str], object]]:
    log, plain = get_logger("holdfast.leaky"), logging.getLogger("some.library")

    def raises(secret: str) -> None:
        try:
            raise RuntimeError(f"refused: password={secret}")
        except RuntimeError:
            log.exception("failed")
            plain.exception("failed with %s", secret)

    def in_thread(secret: str) -> None:
        def fail() -> None:
            raise ValueError(secret)

        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()

    encoded = lambda secret: base64.b64encode(f"user:{secret}".encode()).decode()  # noqa: E731
    return [
        lambda s: log.info("by_key", password=s),
        lambda s: log.info("nested", request={"headers": {"Authorization": s, "Set-Cookie": f"sid={s}; Path=/"}}),
        lambda s: log.info("listed", secrets=[s], items=[{"api_key": s}, {"X-Api-Key": s}]),
        lambda s: log.bind(dbPassword=s).warning("bound"),
        lambda s: log.info("by_value", note=f"the word is {s}, tell nobody"),
        lambda s: log.info("event_itself %s", s),
        lambda s: log.info("url", url=f"https://user:{quote(s, safe='')}@example.test/path"),
        lambda s: log.info("query", url=f"https://example.test/?x=1&access_token={quote_plus(s)}&y=2"),
        lambda s: log.info("basic", line=f"Authorization: Basic {encoded(s)}"),
        lambda s: log.info("base64", body=encoded(s)),
        lambda s: log.info("object", thing=RuntimeError(s)),
        lambda s: log.info("bytes", body=f"token={s}".encode()),
        raises,
        in_thread,
        lambda s: plain.info("message %s", s),
        lambda s: plain.info("mapping %(k)s", {"k": s}),
        lambda s: plain.info("extra", extra={"session_token": s, "payload": {"deep": [s]}}),
        lambda s: plain.warning("dsn postgresql://app:%s@db/jobs", quote(s, safe="")),
        lambda s: warnings.warn(f"deprecated secret {s}", stacklevel=1),
        lambda s: log.error("hf", keys=f"hf_{'x' * 20}", other=s),
    ]


if __name__ == "__main__":
    set_up(sys.argv[1])
    redact.register(*CANARIES)
    for leak, canary in zip(leaks(), CANARIES, strict=True):
        leak(canary)
    raise RuntimeError(f"the last words: {CANARIES[0]}")
