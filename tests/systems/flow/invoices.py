"""A flow that branches, joins, runs over a list and can fail, for tests of how flows are seen and changed."""

from __future__ import annotations

from holdfast import Engine


def declare(app: Engine) -> None:
    """fetch → check → pay or review → close, and fetch → line (once for each line) → total."""
    flow = app.flow("invoice", on_failure="finish")

    @flow.task(retries=0)
    def fetch(doc: str, lines: int = 2) -> list[int]:
        if doc == "broken":
            raise ValueError("it cannot be read")
        return list(range(1, lines + 1))

    @flow.task(after=fetch, retries=0)
    def check(fetch: list[int]) -> int:
        return sum(fetch)

    @flow.task
    def pay(check: int) -> str:
        return f"paid {check}"

    @flow.task
    def review(check: int, reviewer: str = "anyone") -> str:
        return f"waits for {reviewer}"

    @flow.task(after=[pay, review])
    def close(pay: str | None, review: str | None) -> str:
        return pay or review or ""

    @flow.task(map_over=fetch, retries=0)
    def line(number: int, doc: str) -> int:
        if doc == f"line {number} is broken":
            raise ValueError(f"line {number} is smeared")
        return number * 10

    @flow.task(after=line)
    def total(line: list[int]) -> int:
        return sum(line)

    flow.branch(after=check, cases=[({"path": "", "op": ">", "value": 100}, review)], default=pay)

    @app.task(retries=0)
    def double(n: int) -> int:
        return n * 2

    @app.task(retries=0)
    def plus(a: int, b: int = 1) -> int:
        return a + b

    @app.task(compensate={"charge": print})
    def charge(n: int) -> int:
        return n

    @app.task(lifecycle="crawl")
    def visit(url: str) -> str:
        return url


app = Engine()
declare(app)
