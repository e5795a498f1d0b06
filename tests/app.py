"""Tasks for the tests, and a worker process that runs them: `python -m tests.app URL CONCURRENCY GRACE_S`."""

import asyncio
import logging
import math
import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

from holdfast import Context, Engine, PermanentError, TransientError
from holdfast.runtime.serving import serve_worker


def note(file: str, text: str) -> None:
    """One line that outlives the process."""
    with Path(file).open("a") as lines:
        lines.write(f"{text}\n")


def noted(file: str | Path) -> list[str]:
    path = Path(file)
    return path.read_text().splitlines() if path.exists() else []


def nap(file: str, seconds: float) -> str:
    note(file, f"began {os.getpid()}")
    time.sleep(seconds)
    note(file, f"ended {os.getpid()}")
    return str(os.getpid())


async def anap(file: str, seconds: float) -> str:
    note(file, f"began {os.getpid()}")
    await asyncio.sleep(seconds)
    note(file, f"ended {os.getpid()}")
    return str(os.getpid())


def spin(seconds: float) -> str:
    """Keeps the interpreter to itself, as far as Python lets it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
    return "done"


async def block(seconds: float) -> str:
    """Keeps the event loop to itself."""
    return spin(seconds)


def regex(seconds: float) -> str:
    """Holds the interpreter inside C code, where nobody can take it away, for at least this long in one go."""
    length = 100
    while True:
        began = time.monotonic()
        re.match(r".*.*.*b", "a" * length)
        took = time.monotonic() - began
        if took >= seconds:
            return "done"
        length = math.ceil(length * (1.1 * seconds / took) ** (1 / 3))  # twice as many letters take eight times as long


def crash(file: str, how: str) -> str:
    note(file, f"crash {os.getpid()}")
    if how == "exit":
        os._exit(3)
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


def whoami() -> int:
    return os.getpid()


async def add(a: int, b: int) -> int:
    return a + b


def dice(ctx: Context, seed: int) -> int:
    """Does one of many things, by its seed and attempt: what becomes of it is chance, and repeatable."""
    roll = (seed * 2_654_435_761 + ctx.attempt * 40_503) % 100
    if roll < 12:
        raise TransientError("bad luck")
    if roll < 15:
        raise PermanentError("worse luck", code="bad_request")
    if roll < 18:
        raise ValueError("a bug")
    if roll < 20:
        time.sleep(0.05)
        ctx.check()
    return ctx.step("roll", int, roll)


async def adice(seed: int) -> int:
    if seed % 17 == 0:
        raise TransientError("bad luck")
    if seed % 31 == 0:
        await asyncio.sleep(0.05)
    return seed


def die(ctx: Context, seed: int) -> int:
    """Takes its process along, now and then."""
    if (seed + ctx.attempt) % 2:
        os._exit(9)
    return seed


def app_on(url: str) -> Engine:
    app = Engine(url)
    short: dict[str, Any] = {"lease": "1s", "retries": 5, "backoff": "10ms"}
    app.task(**short)(nap)
    app.task(**short)(anap)
    # Half of what is left of a lease is the heart's to be heard in: beside other work, half a second is soon over.
    hogs = short | {"lease": "2s"}
    app.task(**hogs)(spin)
    app.task(**hogs)(block)
    app.task(**hogs)(regex)
    app.task(retries=5, backoff="10ms", executor="process")(crash)
    app.task(executor="process")(whoami)
    app.task(add)
    chance: dict[str, Any] = {"lease": "1500ms", "retries": 4, "backoff": "20ms", "on_exhausted": "dead_letter"}
    app.task(**chance)(dice)
    app.task(**chance, lifecycle="workflow", expires="20s")(adice)
    app.task(**chance, executor="process")(die)
    return app


if __name__ == "__main__":
    url, concurrency, grace_s, chores = sys.argv[1:5]
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("holdfast.transition").setLevel(logging.WARNING)
    logging.getLogger("holdfast.heartbeat").setLevel(logging.DEBUG)
    sys.exit(
        serve_worker(
            app_on(url)._inside, concurrency=int(concurrency), grace_s=float(grace_s), chores=chores == "chores"
        )
    )
