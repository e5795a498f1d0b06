"""Tasks that say and call something, for each place where handlers run."""

import logging
import urllib.request
from collections.abc import Callable

import httpx

from holdfast import Context, Engine, PermanentError
from holdfast.observe import tracing

logger = logging.getLogger("shop")
TIMEOUT_S = 10


def call(ctx: Context, url: str) -> dict[str, str]:
    """Runs in a thread."""
    ctx.log.info("calling", password="not to be seen")
    logger.info("from a library")
    return _get(url)


async def acall(ctx: Context, url: str) -> dict[str, str]:
    ctx.log.info("calling", password="not to be seen")
    logger.info("from a library")
    if not url:
        return tracing.headers()
    async with httpx.AsyncClient(headers=tracing.headers(), trust_env=False) as client:
        answer: dict[str, str] = (await client.get(url, timeout=TIMEOUT_S)).json()
        return answer


def pcall(ctx: Context, url: str) -> dict[str, str]:
    """Runs in a process of its own."""
    return call(ctx, url)


def fail(code: str) -> None:
    error = RuntimeError(code)
    error.code = code  # type: ignore[attr-defined] # how a handler names its failures
    raise error


def buried() -> None:
    raise PermanentError("nobody can do this")


def headers() -> dict[str, str]:
    return tracing.headers()


def _get(url: str) -> dict[str, str]:
    if not url:
        return headers()
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers()), timeout=TIMEOUT_S) as answer:  # noqa: S310
        return httpx.Response(200, content=answer.read()).json()  # type: ignore[no-any-return]


def app_on(url: str | None = None, clock: Callable[[], int] | None = None) -> Engine:
    app = Engine(url, clock=clock)
    app.task(call)
    app.task(acall)
    app.task(executor="process")(pcall)
    app.task(retries=1, backoff="1ms")(fail)
    app.task(on_exhausted="dead_letter")(buried)
    return app


def __getattr__(name: str) -> Engine:
    """`tests.observe.jobs:app`, made when a command asks for it: importing tasks opens nothing."""
    if name != "app":
        raise AttributeError(name)
    return app_on()
