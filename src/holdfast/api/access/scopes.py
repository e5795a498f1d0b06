"""Which scope each route needs: said where it is declared. A route that says nothing is for admins only."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from fastapi.routing import iter_route_contexts
from starlette.routing import BaseRoute, Mount, compile_path

from holdfast.api.access.keys import Scope
from holdfast.api.access.query import Parameters, parameters_of
from holdfast.api.problems.kinds import Problem

F = TypeVar("F", bound=Callable[..., Any])
MOUNTED = frozenset({"GET", "HEAD"})
"""Files that are mounted are looked at, never changed."""


class Access(NamedTuple):
    """What is said of a route where it is declared."""

    scope: Scope | None
    """What its callers need; None is open to everybody."""
    problems: tuple[str, ...] = ()
    """Codes that it may answer and that nothing of its shape tells."""
    is_stream: bool = False
    """Its answer does not end by itself: it has a place among its kind."""
    is_unsafe_get: bool = False
    """A GET that changes something: not for browsers, where any link or image would do it."""


UNDECLARED = Access(Scope.ADMIN)
"""Until somebody decides."""
DECLARED = "__holdfast_access__"


def needs(
    scope: Scope | None, *problems: str, is_stream: bool = False, is_unsafe_get: bool = False
) -> Callable[[F], F]:
    """Declare, beside a route's path, who may call it, and the problems of its own that it answers."""
    access = Access(scope, problems, is_stream, is_unsafe_get)

    def declare(endpoint: F) -> F:
        setattr(endpoint, DECLARED, access)
        return endpoint

    return declare


def bare(template: str) -> str:
    """A path's template without the names of its parameters."""
    return re.sub(r"\{[^}]*\}", "{}", template)


_one_at_a_time = threading.Lock()


class Passage(NamedTuple):
    """What is to know of a request's route before it is let in."""

    template: str
    access: Access
    parameters: Parameters | None = None
    """None takes any: whoever looks whether the server is well may have a habit."""


class RouteMap:
    """Finds the route that a request is for, as the router will: the first that fits. What it does not find is not
    served, so that nothing passes which was not looked up here.
    """

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        self.learn(routes)

    def learn(self, routes: Sequence[BaseRoute]) -> None:
        """Know these routes and no others."""
        found: list[tuple[frozenset[str], re.Pattern[str], Passage]] = []
        # The framework works a router's routes out when they are first looked at, and applications share routers.
        with _one_at_a_time:
            for context in iter_route_contexts(routes):
                route = context.original_route
                if isinstance(route, Mount):
                    found.append((MOUNTED, route.path_regex, Passage(route.path or "/", UNDECLARED)))
                elif context.path is not None and context.methods:
                    access = getattr(getattr(route, "endpoint", None), DECLARED, UNDECLARED)
                    parameters = parameters_of(route) if context.path.startswith("/api/") else None
                    passage = Passage(context.path, access, parameters)
                    found.append((frozenset(context.methods), compile_path(context.path)[0], passage))
        self._routes = found
        self._accesses = {(method, bare(path)): access for method, path, access in self.entries()}

    def entries(self) -> list[tuple[str, str, Access]]:
        """Every method and template that is served, and what was declared of it; HEAD beside GET is not told apart."""
        found = {
            (method, passage.template): passage.access for methods, _, passage in self._routes for method in methods
        }
        both = {(method, path) for method, path in found if method == "HEAD" and ("GET", path) in found}
        return [(method, path, access) for (method, path), access in found.items() if (method, path) not in both]

    def access(self, method: str, template: str) -> Access:
        """What was declared of a route, whatever its parameters are called."""
        return self._accesses[method, bare(template)]

    def find(self, method: str, path: str) -> Passage:
        """The route's passage. The problem where there is none: not this path, or not with this method."""
        allowed: set[str] = set()
        allowed_here: frozenset[str] = frozenset()
        for methods, pattern, passage in self._routes:
            if not pattern.match(path):
                continue
            if method in methods:
                return passage
            allowed |= methods
            if passage.template == path:
                allowed_here |= methods
        if not allowed:
            raise Problem("not_found", "nothing is served at this path; /api/docs lists what is")
        # A path that is spelled out is itself, and not one of those that have a parameter there.
        methods_text = ", ".join(known := sorted(allowed_here or allowed))
        detail = f"this path takes {methods_text}"
        raise Problem("method_not_allowed", detail, allowed=known, headers={"Allow": methods_text})
