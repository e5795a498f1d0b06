"""Which scope each route needs: one table. A route that is missing in it is for admins only."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from typing import NamedTuple

from fastapi.routing import iter_route_contexts
from starlette.routing import BaseRoute, Mount, compile_path

from holdfast.api.access.keys import Scope
from holdfast.api.problems.kinds import Problem

READ, WRITE, ADMIN = Scope.READ, Scope.WRITE, Scope.ADMIN

# Paths as their routes are declared; what their parameters are called does not matter.
SCOPES: dict[tuple[str, str], Scope | None] = {
    ("GET", "/healthz"): None,
    ("GET", "/readyz"): None,
    ("GET", "/metrics"): READ,
    ("GET", "/api/openapi.json"): READ,
    ("GET", "/api/docs"): READ,
    ("GET", "/api/me"): READ,
    ("GET", "/api/stats"): READ,
    ("GET", "/api/tasks"): READ,
    ("GET", "/api/lifecycles"): READ,
    ("GET", "/api/lifecycles/{name}"): READ,
    ("GET", "/api/workers"): READ,
    ("GET", "/api/leases"): READ,
    ("GET", "/api/schedules"): READ,
    ("POST", "/api/schedules/{name}/pause"): ADMIN,
    ("POST", "/api/schedules/{name}/resume"): ADMIN,
    ("POST", "/api/schedules/{name}/run"): WRITE,
    ("DELETE", "/api/schedules/{name}"): ADMIN,
    ("GET", "/api/queues"): READ,
    ("POST", "/api/queues/{name}/pause"): ADMIN,
    ("POST", "/api/queues/{name}/resume"): ADMIN,
    ("GET", "/api/events"): READ,
    ("GET", "/api/jobs"): READ,
    ("POST", "/api/jobs"): WRITE,
    ("POST", "/api/jobs/batch"): WRITE,
    ("POST", "/api/jobs/cancel"): ADMIN,
    ("GET", "/api/jobs/{id}"): READ,
    ("DELETE", "/api/jobs/{id}"): ADMIN,
    ("POST", "/api/jobs/{id}/cancel"): WRITE,
    ("POST", "/api/jobs/{id}/stop"): WRITE,
    ("GET", "/api/jobs/{id}/stop"): WRITE,
    ("POST", "/api/jobs/{id}/resume"): WRITE,
    ("POST", "/api/jobs/{id}/retry"): WRITE,
    ("POST", "/api/jobs/{id}/replay"): WRITE,
    ("GET", "/api/jobs/{id}/events"): READ,
    ("GET", "/api/jobs/{id}/stream"): READ,
    ("GET", "/api/jobs/{id}/attempts"): READ,
    ("GET", "/api/jobs/{id}/logs"): READ,
    ("GET", "/api/jobs/{id}/artifacts"): READ,
    ("GET", "/api/jobs/{id}/artifacts/{name}"): READ,
    ("GET", "/api/jobs/{id}/result"): READ,
    ("GET", "/api/jobs/{id}/explain"): READ,
    ("GET", "/api/jobs/{id}/graph"): READ,
    ("GET", "/api/jobs/{id}/certificate"): READ,
    ("POST", "/api/pipeline/jobs"): WRITE,
    ("GET", "/api/pipeline/jobs"): READ,
    ("GET", "/api/pipeline/jobs/{id}"): READ,
    ("GET", "/api/pipeline/jobs/{id}/stream"): READ,
    ("POST", "/api/pipeline/jobs/{id}/cancel"): WRITE,
    ("GET", "/api/flows"): READ,
    ("POST", "/api/flows/{flow}"): WRITE,
    ("GET", "/api/flows/{flow}"): READ,
    ("POST", "/api/flows/{id}/cancel"): WRITE,
    ("POST", "/api/flows/{id}/resume"): WRITE,
    ("POST", "/api/flows/{id}/retry"): WRITE,
    ("GET", "/api/dead"): READ,
    ("GET", "/api/dead/groups"): READ,
    ("POST", "/api/dead/replay"): WRITE,
    ("POST", "/api/dead/discard"): ADMIN,
}

STREAMS = {"/api/events", "/api/jobs/{id}/stream", "/api/pipeline/jobs/{id}/stream"}
"""Answers that do not end by themselves: they have places of their own."""

UNSAFE_GETS = {"/api/jobs/{id}/stop"}
"""GETs that change something: not for browsers, where any link or image would do it."""


MOUNTED = frozenset({"GET", "HEAD"})
"""Files that are mounted are looked at, never changed."""


def bare(template: str) -> str:
    """A path's template without the names of its parameters."""
    return re.sub(r"\{[^}]*\}", "{}", template)


_SCOPES = {(method, bare(path)): scope for (method, path), scope in SCOPES.items()}
_STREAMS = {bare(path) for path in STREAMS}
_UNSAFE_GETS = {bare(path) for path in UNSAFE_GETS}


def scope_of(method: str, template: str) -> Scope | None:
    """What a route needs; None is open to everybody. Not in the table: for admins only, until somebody decides."""
    return _SCOPES.get(("GET" if method == "HEAD" else method, bare(template)), ADMIN)


_one_at_a_time = threading.Lock()


class Passage(NamedTuple):
    """What is to know of a request's route before it is let in."""

    template: str
    scope: Scope | None
    is_stream: bool = False
    is_unsafe_get: bool = False


class RouteMap:
    """Finds the route that a request is for, as the router will: the first that fits. What it does not find is not
    served, so that nothing passes which was not looked up here.
    """

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        self.learn(routes)

    def learn(self, routes: Sequence[BaseRoute]) -> None:
        """Know these routes and no others."""
        found: list[tuple[frozenset[str], re.Pattern[str], str]] = []
        # The framework works a router's routes out when they are first looked at, and applications share routers.
        with _one_at_a_time:
            for context in iter_route_contexts(routes):
                route = context.original_route
                if isinstance(route, Mount):
                    found.append((MOUNTED, route.path_regex, route.path or "/"))
                elif context.path is not None and context.methods:
                    found.append((frozenset(context.methods), compile_path(context.path)[0], context.path))
        self._routes = found

    def templates(self) -> set[tuple[str, str]]:
        """Every (method, template) that is served; HEAD beside GET is not told apart."""
        found = {(method, path) for methods, _, path in self._routes for method in methods}
        return {(method, path) for method, path in found if method != "HEAD" or ("GET", path) not in found}

    def find(self, method: str, path: str) -> Passage:
        """The route's passage. The problem where there is none: not this path, or not with this method."""
        allowed: set[str] = set()
        here: frozenset[str] = frozenset()
        for methods, pattern, template in self._routes:
            if not pattern.match(path):
                continue
            if method in methods:
                name = bare(template)
                is_unsafe_get = method in ("GET", "HEAD") and name in _UNSAFE_GETS
                return Passage(template, scope_of(method, template), name in _STREAMS, is_unsafe_get)
            allowed |= methods
            if template == path:
                here |= methods
        if not allowed:
            raise Problem("not_found", "nothing is served at this path; /api/docs lists what is")
        # A path that is spelled out is itself, and not one of those that have a parameter there.
        methods_text = ", ".join(known := sorted(here or allowed))
        detail = f"this path takes {methods_text}"
        raise Problem("method_not_allowed", detail, allowed=known, headers={"Allow": methods_text})
