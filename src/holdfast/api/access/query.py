"""What stands behind the `?` of a request: a route takes the parameters that it declares, and no others."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, get_args, get_origin

from fastapi.routing import APIRoute
from starlette.datastructures import QueryParams
from starlette.routing import BaseRoute

from holdfast.api.problems.kinds import Problem


class Parameters(NamedTuple):
    """The query parameters of a route, and those of them that may be given several times."""

    known: frozenset[str]
    many: frozenset[str]


def parameters_of(route: BaseRoute) -> Parameters | None:
    """None for a route of another kind, which looks at its own."""
    if not isinstance(route, APIRoute):
        return None
    fields = {field.alias: field.field_info.annotation for field in route.dependant.query_params}
    lists = [name for name, kind in fields.items() if any(get_origin(each) is list for each in (kind, *get_args(kind)))]
    return Parameters(frozenset(fields), frozenset(lists))


def refuse_unknown(query: QueryParams, known: Collection[str], many: Collection[str] = ()) -> None:
    """Problem for a query parameter that the route does not know, or that is given twice and may not be.

    A filter that is misspelt and ignored shows everything, and that is worse than nothing.
    """
    given = [name for name, _ in query.multi_items()]
    for name in given:
        if name not in known:
            words = f"there are: {', '.join(sorted(known))}" if known else "this path takes none"
            raise Problem(
                "unknown_parameter", f"no parameter {name[:100]!r}; {words}", field=name, allowed=sorted(known)
            )
        if given.count(name) > 1 and name not in many:
            raise Problem("invalid_parameter", f"{name} is given {given.count(name)} times; give it once", field=name)
