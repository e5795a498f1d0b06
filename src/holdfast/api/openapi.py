"""The OpenAPI document: what the framework finds, with our problems, keys and scopes in place of its defaults."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse

from holdfast.api.access.keys import Scope
from holdfast.api.access.scopes import Access, RouteMap, needs
from holdfast.api.problems.kinds import PROBLEM_SCHEMA
from holdfast.api.problems.of_routes import problems_of, responses_of

METHODS = ("get", "put", "post", "delete", "patch")
FRAMEWORK = ("HTTPValidationError", "ValidationError")


@needs(Scope.READ)
async def openapi(request: Request) -> JSONResponse:
    return JSONResponse(request.app.openapi())


def describe(app: FastAPI) -> None:
    """Let the application describe itself as it behaves. Made once, when first asked for."""
    framework = app.openapi

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _mended(framework(), app.state.route_map)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign] # the framework's own way to extend it


def _mended(found: dict[str, Any], routes: RouteMap) -> dict[str, Any]:
    components = found.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for path, operations in found.get("paths", {}).items():
        for method in METHODS:
            if method in operations:
                _mend(operations[method], method.upper(), path, routes.access(method.upper(), path))
    for name in FRAMEWORK:
        schemas.pop(name, None)
    schemas["Problem"] = PROBLEM_SCHEMA
    components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer", "bearerFormat": "hf_<id>_<secret>"}}
    return found


def _mend(operation: dict[str, Any], method: str, path: str, access: Access) -> None:
    responses = operation.setdefault("responses", {})
    if "HTTPValidationError" in str(responses.get("422")):
        del responses["422"]
    codes = problems_of(method, path, operation, access)
    for status, problem in responses_of(codes).items():
        own = responses.get(status, {})
        # What the route says of a refusal itself stands before the names of its codes.
        texts = [text for text in (own.get("description"), problem["description"]) if text]
        responses[status] = problem | {"description": " ".join(texts)}
    operation["x-problems"] = codes
    if access.scope is not None:
        operation["x-scope"] = access.scope.value
        # On loopback none is needed: hence the empty alternative.
        operation["security"] = [{"key": []}, {}]
