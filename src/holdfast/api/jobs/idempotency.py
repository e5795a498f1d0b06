"""`Idempotency-Key`: a request repeated under its key does nothing more, and gets the first answer to the byte."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Annotated, Any, TypeVar
from weakref import WeakValueDictionary

from fastapi import Depends, Header, Request
from starlette.responses import Response

from holdfast.api.access.keys import Caller
from holdfast.api.deps import CallerDep, EngineDep, StoreDep
from holdfast.api.problems.handlers import problem_of
from holdfast.api.problems.kinds import Problem
from holdfast.kernel.errors import BusyError, HoldfastError, NotAllowedError, StoreError
from holdfast.runtime.engine import Engine
from holdfast.store.jobs.requests import (
    AnsweredError,
    Answering,
    Asked,
    Expected,
    MismatchError,
    Reply,
    Telling,
    VersionError,
    answered,
    is_expected,
    keep,
)
from holdfast.store.script import Script
from holdfast.store.store import SqlStore

R = TypeVar("R")
SHAPE = re.compile(r"[\x21-\x7e]{1,255}")
IN_FLIGHT_S = 5.0
"""How long a repeat waits for the first request to end before it is told that it is still at it."""

Flights = WeakValueDictionary[str, asyncio.Lock]
KeyHeader = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="1 to 255 visible characters: a repeat within 24 h does nothing more.",
        json_schema_extra={"pattern": f"^{SHAPE.pattern}$"},
    ),
]


def reply(status: int, body: object, **headers: str) -> Reply:
    """An answer in JSON; names of headers are written with underscores."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return Reply(status, text, {name.replace("_", "-"): value for name, value in headers.items()})


def nothing_yet(result: Any) -> Script[Reply | None]:
    """For commands of several transactions: their answer is kept after the last of them."""
    yield from ()
    return None


class Once:
    """One request that changes something: done once, however often it is sent."""

    def __init__(
        self, request: Request, engine: Engine, store: SqlStore, caller: Caller, asked: Asked | None, flights: Flights
    ) -> None:
        self._request, self._engine, self.store, self._asked, self._flights = request, engine, store, asked, flights
        self.actor = caller.name

    async def run(
        self,
        command: Callable[[SqlStore], Awaitable[R]],
        tell: Telling = nothing_yet,
        finish: Callable[[R], Awaitable[Reply]] | None = None,
        expects: Expected | None = None,
    ) -> Reply:
        """Do what is asked, and keep the answer with it.

        `tell` makes the answer inside the transaction that has the effect; where a command may do without one, `finish`
        makes it afterwards. A command of several transactions, each of which may be repeated, returns its answer.
        """
        if self._asked is None:
            return await self._do(None, command, tell, finish, expects)
        async with self._flight(self._asked.op_id):
            found = await self.was_answered()
            return found or await self._first(self._asked, command, tell, finish, expects)

    async def was_answered(self) -> Reply | None:
        """What this request was answered when it came first; Problem when its key stands for another one."""
        if self._asked is None:
            return None
        try:
            return await answered(self.store, self._asked)
        except MismatchError as other:
            raise _mismatch(other) from None

    async def _first(self, asked: Asked, *how: Any) -> Reply:
        try:
            return await self._do(asked, *how)
        except AnsweredError as before:
            return before.reply
        except MismatchError as other:
            raise _mismatch(other) from None
        except StoreError:
            raise
        except (HoldfastError, Problem) as refused:
            # Refused, perhaps, because another process did just this a moment ago: then its answer counts.
            found = await answered(self.store, asked)
            if found is not None:
                return found
            if not isinstance(refused, Problem) or refused.code != "conflict_state" or refused.headers:
                raise
            response = refused.response(self._request.scope)
            kept = Reply(
                response.status_code, bytes(response.body).decode(), {"Content-Type": response.media_type or ""}
            )
            with suppress(AnsweredError):
                await keep(self.store, asked, kept)
            return kept

    async def _do(
        self,
        asked: Asked | None,
        command: Callable[[SqlStore], Awaitable[R]],
        tell: Telling,
        finish: Callable[[R], Awaitable[Reply]] | None,
        expects: Expected | None,
    ) -> Reply:
        answering = Answering(self.store, asked, tell, expects)
        try:
            if expects is not None:
                await self.store.driver.read(is_expected(expects))
            result = await command(answering.store)
        except NotAllowedError as refused:
            raise problem_of(refused) from None
        except VersionError as changed:
            raise Problem("precondition_failed", str(changed), field="If-Match") from None
        made = answering.reply or (result if isinstance(result, Reply) else None)
        if made is None and finish is not None:
            made = await finish(result)
        if made is None:
            raise BusyError("the job keeps moving")
        if answering.reply is None and asked is not None:
            await keep(self.store, asked, made)
        self._engine.woken()
        return made

    @asynccontextmanager
    async def _flight(self, op_id: str) -> AsyncIterator[None]:
        """One at a time under a key. Of other processes the database takes care."""
        lock = self._flights.get(op_id)
        if lock is None:
            lock = self._flights[op_id] = asyncio.Lock()
        try:
            async with asyncio.timeout(IN_FLIGHT_S):
                await lock.acquire()
        except TimeoutError:
            detail = "the first request under this key is still at it"
            raise Problem("idempotency_in_flight", detail, headers={"Retry-After": "1"}) from None
        try:
            yield
        finally:
            lock.release()


def _mismatch(error: MismatchError) -> Problem:
    return Problem("idempotency_mismatch", str(error), field="Idempotency-Key")


def response(reply: Reply) -> Response:
    headers = dict(reply.headers)
    if reply.again:
        headers["Idempotency-Replayed"] = "true"
    media_type = headers.pop("Content-Type", "application/json")
    return Response(reply.body, reply.status, headers, media_type)


def asked_of(key: str | None, caller: Caller, method: str, path: str, body: bytes) -> Asked | None:
    """Under what a request is kept, and what it says; Problem for a key that is none."""
    if key is None:
        return None
    if SHAPE.fullmatch(key) is None:
        raise Problem("invalid_parameter", "use 1 to 255 visible ASCII characters", field="Idempotency-Key")
    scope = json.dumps([caller.key_id or caller.name, method, path, key])
    return Asked(f"http:{_sha(scope.encode())}", _sha(_canonical(body)))


def _canonical(body: bytes) -> bytes:
    """The same for bodies that say the same, whatever their spaces and the order of their fields."""
    try:
        said = json.loads(body) if body.strip() else {}
        return json.dumps(said, sort_keys=True, separators=(",", ":")).encode()
    except (ValueError, RecursionError):
        return body


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


async def _once(request: Request, engine: EngineDep, store: StoreDep, caller: CallerDep, key: KeyHeader = None) -> Once:
    state = request.app.state
    if not hasattr(state, "flights"):
        state.flights = Flights()
    asked = asked_of(key, caller, request.method, request.url.path, await request.body())
    assert isinstance(store, SqlStore)  # noqa: S101 - until answers are facts
    return Once(request, engine, store, caller, asked, state.flights)


OnceDep = Annotated[Once, Depends(_once)]
"""How a route changes something: under the request's Idempotency-Key, if it has one."""
