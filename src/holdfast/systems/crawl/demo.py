"""Crawls in the demo: one page comes at once, one at the second try."""

from __future__ import annotations

import time
from collections.abc import Callable

from holdfast.kernel.errors import TransientError
from holdfast.runtime.handle import JobHandle
from holdfast.runtime.inside import Inside
from holdfast.tasks.context import Context


def part(app: Inside, queue: str) -> Callable[[], dict[str, JobHandle[int]]]:
    @app.task(lifecycle="crawl", queue=queue, lease="2s", backoff="400ms")
    def fetch(ctx: Context, url: str) -> int:
        time.sleep(0.3)
        if "slow" in url and ctx.tries == 1:
            raise TransientError("the site asks for patience", code="rate_limited")
        return 1_000 + len(url)

    return lambda: {
        "fetch front page": fetch.submit("https://news.example/"),
        "fetch slow page": fetch.submit("https://slow.example/"),
    }
