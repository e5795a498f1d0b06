"""Tasks for the API's tests, of several lifecycles."""

from __future__ import annotations

from holdfast import Context, Engine, PermanentError


async def add(a: int, b: int = 1) -> int:
    return a + b


async def boom(text: str) -> str:
    if text != "mended":
        raise PermanentError("it does that", code="bad_request")
    return text


async def crawl(url: str) -> str:
    return url


async def flow(n: int) -> int:
    return n


def greet(ctx: Context, name: str, times: int = 1) -> str:
    return f"hello {name}" * times


def declare(engine: Engine) -> None:
    engine.task(add)
    engine.task(on_exhausted="dead_letter", retries=0)(boom)
    engine.task(lifecycle="crawl", queue="crawls")(crawl)
    engine.task(lifecycle="workflow")(flow)
    engine.task(greet)
