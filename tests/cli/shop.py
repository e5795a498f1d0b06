"""An application for the command line's tests: `--app tests.cli.shop:app`, on the database that the test names."""

import time

from holdfast import Context, Engine, PermanentError, TransientError

app = Engine("sqlite:///shop.db")


@app.task
def add(a: int, b: int = 1) -> int:
    return a + b


@app.task
def echo(value: object = None) -> object:
    return value


@app.task(retries=0, on_exhausted="dead_letter", queue="texts")
def fetch(url: str) -> str:
    if not url.startswith("https://"):
        raise TransientError(f"no route to {url}", code="network_error")
    return f"got {url}"


@app.task
def broken() -> None:
    raise PermanentError("never", code="bad_request")


@app.task
def count(ctx: Context, n: int) -> int:
    for _ in ctx.track(range(n), "counting"):
        time.sleep(0.05)
    ctx.artifact("report.txt", f"counted {n}\n")
    return n


@app.task(lifecycle="workflow", queue="flows")
def node() -> None: ...
