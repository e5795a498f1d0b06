"""How much is let in: requests a second, requests at a time, bytes and depth of a body."""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from starlette.types import Message, Receive

from holdfast.api.problems.kinds import Problem

KEPT_BUCKETS = 10_000
MARKS = re.compile(rb'["\\\[\]{}]')
INSIDE_TEXT = re.compile(rb'["\\]')


class RateLimit:
    """A token bucket for each who: `rate` a second on average, `burst` at once."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, who: str) -> None:
        """Take a token, or raise the problem that says when there will be one."""
        if not self._rate:
            return
        now_s = self._clock()
        tokens = self._tokens(who, now_s)
        if tokens < 1:
            raise self._refusal(tokens)
        self._buckets[who] = (tokens - 1, now_s)
        self._buckets.move_to_end(who)
        if len(self._buckets) > KEPT_BUCKETS:
            self._buckets.popitem(last=False)

    def look(self, who: str) -> None:
        """Raise as `take` would, and take nothing."""
        if self._rate and (tokens := self._tokens(who, self._clock())) < 1:
            raise self._refusal(tokens)

    def _tokens(self, who: str, now_s: float) -> float:
        tokens, at_s = self._buckets.get(who, (float(self._burst), now_s))
        return min(self._burst, tokens + (now_s - at_s) * self._rate)

    def _refusal(self, tokens: float) -> Problem:
        wait_s = math.ceil((1 - tokens) / self._rate)
        detail = f"more than {self._rate:g} requests a second; the next is taken in {wait_s} s"
        return Problem("rate_limited", detail, headers={"Retry-After": str(wait_s)})


class Room:
    """A number of places."""

    def __init__(self, places: int, what: str) -> None:
        self._places, self._what = places, what
        self.taken = 0

    @contextmanager
    def place(self) -> Iterator[None]:
        """One of them, for as long as the block runs; a problem when all are taken."""
        if self.taken >= self._places:
            detail = f"{self._places} {self._what} are under way, and no more at a time"
            raise Problem("too_busy", detail, headers={"Retry-After": "1"})
        self.taken += 1
        try:
            yield
        finally:
            self.taken -= 1


class IncomingBody:
    """A request's body as it comes in: counted, measured and timed before anybody keeps it."""

    def __init__(self, receive: Receive, *, limit: int, timeout_s: float, depth: int | None) -> None:
        self._receive = receive
        self._limit, self._timeout_s = limit, timeout_s
        self._gauge = None if depth is None else DepthGauge(depth)
        self._size = 0
        self._ended = False

    async def __call__(self) -> Message:
        if self._ended:
            return await self._receive()
        try:
            async with asyncio.timeout(self._timeout_s):
                message = await self._receive()
        except TimeoutError:
            self._ended = True
            detail = f"no more of it came within {self._timeout_s:g} s"
            raise Problem("too_slow", detail, headers={"Connection": "close"}) from None
        chunk = message.get("body", b"")
        self._size += len(chunk)
        self._ended = message["type"] != "http.request" or not message.get("more_body", False)
        if self._size > self._limit:
            raise too_large(self._limit)
        if self._gauge is not None:
            self._gauge.feed(chunk)
        return message


def too_large(limit: int) -> Problem:
    return Problem("too_large", f"a body has at most {limit:,} bytes", headers={"Connection": "close"})


class DepthGauge:
    """How deep a JSON text nests, from its bytes alone: a parser may fall over what is deep enough."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._opened = 0
        self._depth = 0
        self._in_text = False
        self._escaped = False

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes; a problem when they nest too deep. What is no JSON at all is for the parser."""
        at, end = 0, len(chunk)
        if self._escaped and end:
            self._escaped, at = False, 1
        while mark := (INSIDE_TEXT if self._in_text else MARKS).search(chunk, at):
            at = mark.end()
            byte = mark[0]
            if byte == b'"':
                self._in_text = not self._in_text
            elif byte == b"\\":
                if self._in_text:
                    self._escaped = at == end
                    at += 1
            elif byte in b"[{":
                self._depth += 1
                if self._depth > self._limit:
                    raise Problem(
                        "invalid_body", f"it nests deeper than {self._limit} levels", headers={"Connection": "close"}
                    )
            else:
                self._depth -= 1
