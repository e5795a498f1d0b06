"""The doors, in the order in which a request passes them. Nothing of its body is read before the last one."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, QueryParams
from starlette.types import ASGIApp, Receive, Scope, Send

from holdfast.api.access.keys import LOCAL, NOBODY, Caller, Keyring
from holdfast.api.access.keys import Scope as KeyScope
from holdfast.api.access.limits import IncomingBody, RateLimit, Room, too_large
from holdfast.api.access.origins import check_host, check_origin, check_unsafe_get
from holdfast.api.access.query import refuse_unknown
from holdfast.api.access.scopes import Passage, RouteMap
from holdfast.api.problems.kinds import Problem
from holdfast.api.settings import ApiSettings

if TYPE_CHECKING:
    from holdfast.runtime.inside import Inside

POLICY_VIOLATION = 1008
CHALLENGE = 'Bearer realm="holdfast"'


class RequestAdmission:
    """Host, origin, key, rate, scope, query, room, body. Whoever is refused gets a problem."""

    def __init__(self, app: ASGIApp, *, engine: Inside, settings: ApiSettings, routes: RouteMap) -> None:
        self._app = app
        self._engine = engine
        self._settings = settings
        self._keyring = Keyring()
        self._rate = RateLimit(settings.rate, settings.burst)
        self._requests = Room(settings.max_requests, "requests")
        self._streams = Room(settings.max_streams, "streams")
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": POLICY_VIOLATION})  # there are none, and no door for them
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        with ExitStack() as places:
            try:
                passage = await self._admit(scope)
                if room := self._room(passage):
                    places.enter_context(room.place())
                receive = self._measured(scope, receive)
            except Problem as problem:
                await problem.response(scope)(scope, receive, send)
                return
            await self._app(scope, receive, send)

    async def _admit(self, scope: Scope) -> Passage:
        """Let a request in: its caller in `state.caller`; or raise the problem that keeps it out."""
        headers, settings = Headers(scope=scope), self._settings
        # One value a header: of two, this server and a proxy before it might each believe another.
        for name in ("host", "authorization", "origin", "idempotency-key"):
            if len(headers.getlist(name)) > 1:
                raise Problem("invalid_request", f"the header {name} was sent twice", field=name)
        check_host(headers, settings.known_hosts)
        check_origin(scope["method"], headers)
        try:
            passage = self._routes.find(scope["method"], scope["path"])
        except Problem as problem:
            # Whoever may not come in does not learn what is there either.
            await self._caller(headers, scope, is_open=False)
            raise problem from None
        if passage.access.is_unsafe_get:
            check_unsafe_get(headers)
        caller = await self._caller(headers, scope, is_open=passage.access.scope is None)
        scope["state"]["caller"] = caller
        scope["state"]["template"] = passage.template
        if passage.access.scope is not None and passage.access.scope not in caller.scopes:
            raise _too_small(caller, passage.access.scope)
        if passage.parameters is not None and (query := scope["query_string"]):
            refuse_unknown(QueryParams(query), *passage.parameters)
        return passage

    async def _caller(self, headers: Headers, scope: Scope, *, is_open: bool) -> Caller:
        address = scope["client"][0] if scope.get("client") else "unknown"
        authorization = headers.get("authorization")
        if authorization is None:
            if not self._settings.require_key:
                return LOCAL  # who can connect here can open the database too: a rate would guard nothing
            self._rate.take(address)
            if is_open:
                return NOBODY
            raise Problem("unauthorized", "send Authorization: Bearer <key>", headers={"WWW-Authenticate": CHALLENGE})
        # Who guesses pays from the address's bucket, who holds a key from the key's own.
        self._rate.look(address)
        scheme, _, token = authorization.partition(" ")
        caller = None
        if scheme.lower() == "bearer":
            caller = await self._keyring.holder(await self._engine.opened(), token.strip())
        if caller is None:
            self._rate.take(address)
            raise Problem(
                "unauthorized",
                "the key is wrong, expired or revoked",
                headers={"WWW-Authenticate": f'{CHALLENGE}, error="invalid_token"'},
            )
        self._rate.take(f"key {caller.key_id}")
        return caller

    def _room(self, passage: Passage) -> Room | None:
        """Streams have places of their own, and what asks whether the server is alive needs none."""
        if passage.access.scope is None:
            return None
        return self._streams if passage.access.is_stream else self._requests

    def _measured(self, scope: Scope, receive: Receive) -> Receive:
        headers, settings = Headers(scope=scope), self._settings
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length[:20]) > settings.body_limit:
            raise too_large(settings.body_limit)
        is_json = "json" in headers.get("content-type", "json")
        depth = settings.depth_limit if is_json else None
        return IncomingBody(receive, limit=settings.body_limit, timeout_s=settings.body_timeout_s, depth=depth)


def _too_small(caller: Caller, needed: KeyScope) -> Problem:
    has = max(caller.scopes, key=lambda scope: len(scope.implied), default=None)
    return Problem(
        "forbidden",
        f"this needs the scope {needed}; the key {caller.name!r} has {has or 'none'}",
        field="Authorization",
        allowed=[scope.value for scope in KeyScope if needed in scope.implied],
        headers={"WWW-Authenticate": f'{CHALLENGE}, error="insufficient_scope", scope="{needed}"'},
    )
