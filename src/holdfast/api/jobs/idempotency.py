"""`Idempotency-Key`: a request repeated under its key does nothing more, and gets the first answer to the byte."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, NamedTuple
from weakref import WeakValueDictionary

from fastapi import Depends, Header, Request
from starlette.responses import Response

from holdfast.api.access.keys import Caller
from holdfast.api.deps import CallerDep, EngineDep, StoreDep
from holdfast.api.problems.handlers import problem_of
from holdfast.api.problems.kinds import Problem
from holdfast.kernel.errors import NotAllowedError
from holdfast.runtime.inside import Inside
from holdfast.store.port import Ask, Facts, MismatchError, Refused, Store, VersionError

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


class Reply(NamedTuple):
    """An answer, in JSON."""

    status: int
    body: str
    headers: Mapping[str, str] = {}


def reply(status: int, body: object, **headers: str) -> Reply:
    """Names of headers are written with underscores."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return Reply(status, text, {name.replace("_", "-"): value for name, value in headers.items()})


class Once:
    """One request that changes something: done once, however often it is sent."""

    def __init__(self, engine: Inside, store: Store, ask: Ask, flights: Flights) -> None:
        self._engine, self.store, self._ask, self._flights = engine, store, ask, flights
        self.actor = ask.actor

    async def run(
        self,
        change: Callable[[Ask], Awaitable[Facts]],
        tell: Callable[[Facts], Reply],
        versions: frozenset[int] | None = None,
        *,
        looks: bool = False,
        then: Callable[[Reply], Awaitable[Reply]] | None = None,
    ) -> Response:
        """One transaction that remembers what it came to; `tell` makes the answer from that, of a repeat the same.

        With `looks` what is remembered is looked up first: the change itself needs what a repeat may not find.
        `then` has the last word, behind the transaction.
        """
        ask = self._ask._replace(versions=versions)
        try:
            async with self._flight():
                done = (await self._found() if looks else None) or await self._made(change, ask)
        except MismatchError as other:
            raise Problem("idempotency_mismatch", str(other), field="Idempotency-Key") from None
        except VersionError as changed:
            raise Problem("precondition_failed", str(changed), field="If-Match") from None
        if done.refused:
            [refused] = done.refused.values()
            problem = problem_of(refused.error)
            if done.again:
                problem.headers = {**(problem.headers or {}), "Idempotency-Replayed": "true"}
                problem.about["correlation_id"] = done.note or ""
            raise problem
        self._engine.woken()
        answer = tell(done) if then is None else await then(tell(done))
        headers = dict(answer.headers) | ({"Idempotency-Replayed": "true"} if done.again else {})
        return Response(answer.body, answer.status, headers, "application/json")

    async def several(self, act: Callable[[], Awaitable[Reply]]) -> Response:
        """A change of several transactions, each of which may be repeated: its answer is kept behind the last."""

        async def change(ask: Ask) -> Facts:
            made = await act()
            done = Facts(answer={"status": str(made.status), "body": made.body})
            return done if ask.op_id is None else await self.store.admin.answers.keep(ask, done)

        return await self.run(change, lambda done: Reply(int(done.answer["status"]), done.answer["body"]), looks=True)

    async def _made(self, change: Callable[[Ask], Awaitable[Facts]], ask: Ask) -> Facts:
        try:
            return await change(ask)
        except NotAllowedError as error:
            if ask.op_id is None:
                raise
            return await self.store.admin.answers.keep(ask, Facts(refused={"": Refused.by(error)}))

    async def _found(self) -> Facts | None:
        return None if self._ask.op_id is None else await self.store.admin.answers.find(self._ask)

    @asynccontextmanager
    async def _flight(self) -> AsyncIterator[None]:
        """One at a time under a key. Of other processes the database takes care."""
        if (op_id := self._ask.op_id) is None:
            yield
            return
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


def ask_of(key: str | None, caller: Caller, method: str, path: str, body: bytes) -> Ask:
    """Under what a request is kept, and what it says; Problem for a key that is none."""
    if key is None:
        return Ask(caller.name)
    if SHAPE.fullmatch(key) is None:
        raise Problem("invalid_parameter", "use 1 to 255 visible ASCII characters", field="Idempotency-Key")
    scope = json.dumps([caller.key_id or caller.name, method, path, key])
    return Ask(caller.name, f"http:{_sha(scope.encode())}", _sha(_canonical(body)))


def _canonical(body: bytes) -> bytes:
    """The same for bodies that say the same, whatever their spaces and the order of their fields."""
    try:
        document = json.loads(body) if body.strip() else {}
        return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
    except (ValueError, RecursionError):
        return body


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


async def _once(request: Request, engine: EngineDep, store: StoreDep, caller: CallerDep, key: KeyHeader = None) -> Once:
    state = request.app.state
    if not hasattr(state, "flights"):
        state.flights = Flights()
    ask = ask_of(key, caller, request.method, request.url.path, await request.body())
    return Once(engine, store, ask._replace(note=getattr(request.state, "correlation_id", None)), state.flights)


OnceDep = Annotated[Once, Depends(_once)]
"""How a route changes something: under the request's Idempotency-Key, if it has one."""
