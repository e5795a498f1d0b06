"""A client of a server that knows nothing but its address, what it asks for, and what is declared for it to ask for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

import httpx

from holdfast import Context, Engine, PermanentError

T = TypeVar("T")
HELD = "held"
"""A queue that nobody works on: its jobs wait."""


def say(ctx: Context, text: str) -> str:
    ctx.log.info("heard", text=text)
    ctx.progress(1, 2, words=len(text.split()))
    ctx.artifact("said.txt", text.encode())
    return text.upper()


async def stay(ctx: Context) -> None:
    while True:
        ctx.check()
        await asyncio.sleep(0.02)


def boom(text: str) -> str:
    if text != "mended":
        raise PermanentError("it does that", code="bad_request")
    return text


def flow(n: int) -> int:
    return n


def declare(engine: Engine) -> None:
    engine.task(say)
    engine.task(stay)
    engine.task(on_exhausted="dead_letter", retries=0)(boom)
    engine.task(lifecycle="workflow")(flow)
    engine.schedule("nightly", "flow", cron="0 3 * * *", args={"n": 3})
    engine.pipeline("letters").stage(read)
    engine.pipeline("endless").stage(stay)
    invoice = engine.flow("invoice")
    invoice.task(after=invoice.task(read))(send)
    engine.flow("hopeless").task(retries=0)(fail)


def read() -> dict[str, int]:
    return {"read": 3}


def send(read: dict[str, int]) -> int:
    return read["read"]


def fail() -> None:
    raise PermanentError("no use")


class Ways(dict[str, "Callable[[Caller], object]"]):
    """What is done with requests, by the words of the command that does the same, in the order in which it is done."""

    def way(self, words: str) -> Callable[[Callable[[Caller], T]], Callable[[Caller], T]]:
        def keep(function: Callable[[Caller], T]) -> Callable[[Caller], T]:
            self[words] = function
            return function

        return keep


class Caller:
    """A client of a server, that knows nothing but its address."""

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=f"{url}/api", timeout=30)

    def __enter__(self) -> Caller:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def ask(self, method: str, path: str, status: int = 200, **how: Any) -> httpx.Response:
        answer = self._http.request(method, path, **how)
        assert answer.status_code == status, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer

    def get(self, path: str, **params: Any) -> Any:
        return self.ask("GET", path, params=params).json()

    def post(self, path: str, body: Any = None, status: int = 200) -> Any:
        return self.ask("POST", path, status, json=body or {}).json()

    def messages(self, path: str) -> list[tuple[str, Any]]:
        """A stream to its end."""
        name, found = "message", []
        with self._http.stream("GET", path) as answer:
            for line in answer.iter_lines():
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    found.append((name, json.loads(line.removeprefix("data: "))))
        return found

    def made(self, task: str = "say", *, status: int = 201, wait: float = 0, **more: Any) -> Any:
        args = {"say": {"text": "a b"}, "boom": {"text": "x"}, "flow": {"n": 1}}.get(task, {})
        return self.post(f"/jobs?wait={wait}", {"task": task, "args": args, **more}, status)

    def done(self, task: str = "say", **more: Any) -> Any:
        return self.made(task, status=200, wait=20, **more)

    def dead(self) -> str:
        job_id: str = self.done("boom")["id"]
        return job_id

    def state(self, job_id: str) -> str:
        state: str = self.get(f"/jobs/{job_id}")["state"]
        return state
