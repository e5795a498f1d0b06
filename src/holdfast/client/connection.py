"""Requests to an API. One that may have been lost is sent again under the same key, so that it takes effect once."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncGenerator, Mapping
from typing import Any, NamedTuple

import httpx
from uuid_utils import uuid7

from holdfast.client.problems import ApiLostError, error_of
from holdfast.observe import tracing

PATIENCE_S = 15.0
"""For how long a request is sent again before the API counts as lost."""
TIMEOUT_S = 30.0
FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 2.0
SILENCE_S = 45.0
"""A stream is pinged every 15 s: one that says nothing for this long is dead."""
AGAIN = frozenset({"unavailable", "too_busy", "rate_limited", "idempotency_in_flight"})
"""Answers that mean: not now."""


class Message(NamedTuple):
    """A server-sent event."""

    id: str | None
    event: str | None
    data: Any


class Connection:
    """Only inside the engine's own loop."""

    def __init__(self, url: str, key: str | None) -> None:
        self.url = url.rstrip("/").removesuffix("/api")
        self._patience_s = PATIENCE_S
        headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        self._client = httpx.AsyncClient(base_url=f"{self.url}/api", headers=headers, timeout=TIMEOUT_S)

    async def get(self, path: str, **params: Any) -> Any:
        given = {name: value for name, value in params.items() if value is not None}
        return await self._call("GET", path, params=given)

    async def post(self, path: str, body: Mapping[str, Any], trace: Mapping[str, str] | None = None) -> Any:
        """A change. It takes effect once, however often it has to be sent."""
        headers = {"Idempotency-Key": str(uuid7()), **(trace or {})}
        return await self._call("POST", path, json=body, headers=headers)

    async def _call(self, method: str, path: str, **options: Any) -> Any:
        options["headers"] = tracing.headers() | options.get("headers", {})
        pauses = Pauses(self._patience_s)
        while True:
            try:
                answer = await self._client.request(method, path, **options)
            except httpx.TransportError as lost:
                if await pauses.over():
                    raise self._lost(lost) from lost
                continue
            if answer.is_success:
                return answer.json()
            problem = _problem(answer)
            if problem.get("code") not in AGAIN:
                raise error_of(answer.status_code, problem)
            if await pauses.over(_retry_after_s(answer)):
                if problem["code"] == "unavailable":
                    raise ApiLostError(f"{self.url}: {problem.get('detail')}")
                raise error_of(answer.status_code, problem)

    def _lost(self, error: Exception) -> ApiLostError:
        return ApiLostError(f"{self.url} cannot be reached: {str(error) or type(error).__name__}")

    async def stream(self, path: str, last_id: str | None, **params: Any) -> AsyncGenerator[Message]:
        """Server-sent events, without end: a connection that is lost is made anew and goes on behind the last id."""
        pauses = Pauses(self._patience_s)
        given = {name: value for name, value in params.items() if value}
        timeout = httpx.Timeout(TIMEOUT_S, read=SILENCE_S)
        while True:
            headers = {"Accept": "text/event-stream"} | ({} if last_id is None else {"Last-Event-ID": last_id})
            try:
                async with self._client.stream("GET", path, params=given, headers=headers, timeout=timeout) as answer:
                    if answer.status_code == 204:
                        return
                    if not answer.is_success:
                        await answer.aread()
                        problem = _problem(answer)
                        if problem.get("code") not in AGAIN:
                            raise error_of(answer.status_code, problem)
                    else:
                        pauses = Pauses(self._patience_s)
                        async for message in _messages(answer):
                            last_id = message.id or last_id
                            if message.data is not None:
                                yield message
            except httpx.TransportError as lost:
                if await pauses.over():
                    raise self._lost(lost) from lost
                continue
            if await pauses.over():
                raise ApiLostError(f"{self.url} has no room for a stream")

    async def close(self) -> None:
        await self._client.aclose()


class Pauses:
    """Between one try and the next, longer each time, until patience is over."""

    def __init__(self, patience_s: float) -> None:
        self._end_s = time.monotonic() + patience_s
        self._pause_s = FIRST_PAUSE_S

    async def over(self, at_least_s: float = 0.0) -> bool:
        """Whether it is; if not, after a pause."""
        # Not all at the same moment: whoever was cut off together would come back together.
        pause_s = max(at_least_s, self._pause_s * random.uniform(0.5, 1.0))  # noqa: S311 - no secret
        if time.monotonic() + pause_s > self._end_s:
            return True
        self._pause_s = min(self._pause_s * 2, LONGEST_PAUSE_S)
        await asyncio.sleep(pause_s)
        return False


def _problem(answer: httpx.Response) -> dict[str, Any]:
    try:
        problem = answer.json()
    except ValueError:
        problem = None
    if isinstance(problem, dict) and "code" in problem:
        return problem
    code = "unavailable" if answer.status_code in (502, 503, 504) else "unknown"
    return {"code": code, "detail": f"{answer.status_code} {answer.reason_phrase}: this is no answer of Holdfast's"}


def _retry_after_s(answer: httpx.Response) -> float:
    header = answer.headers.get("Retry-After", "")
    return float(header) if header.isdecimal() else 0.0


async def _messages(answer: httpx.Response) -> AsyncGenerator[Message]:
    """As the standard says it: fields until an empty line, an id that stays, comments passed over."""
    last_id, event, data = None, None, list[str]()
    async for line in answer.aiter_lines():
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            yield Message(last_id, event, json.loads("\n".join(data)) if data else None)
            event, data = None, []
        elif name == "id":
            last_id = value
        elif name == "event":
            event = value
        elif name == "data":
            data.append(value)
