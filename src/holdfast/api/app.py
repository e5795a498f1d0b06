"""The application: every router behind the doors, in one place."""

from __future__ import annotations

from fastapi import FastAPI

from holdfast import __version__
from holdfast.api.access.admission import RequestAdmission
from holdfast.api.access.scopes import RouteMap
from holdfast.api.docs_page import docs
from holdfast.api.headers import AnswerHeaders
from holdfast.api.openapi import describe, openapi
from holdfast.api.problems.handlers import LastResort, install
from holdfast.api.routes import served
from holdfast.api.settings import ApiSettings
from holdfast.api.tracing import Tracing, is_untold
from holdfast.runtime.inside import Inside

ABOUT = "Jobs that follow a declared lifecycle, and an engine that can prove that they did."


def create_app(engine: Inside, settings: ApiSettings | None = None) -> FastAPI:
    """The API of an engine. It runs in the engine's own loop: serve it with `holdfast.api.running`."""
    settings = settings or ApiSettings()
    app = FastAPI(
        title="Holdfast",
        version=__version__,
        description=ABOUT,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        routes=served().routes,
        telemetry={"exclude": is_untold},
    )
    app.state.engine = engine
    app.state.settings = settings
    app.add_route("/api/openapi.json", openapi, include_in_schema=False)
    app.add_route("/api/docs", docs, include_in_schema=False)
    describe(app)
    install(app)
    app.state.route_map = RouteMap(app.routes)
    # The last to be added is the first to be passed.
    app.add_middleware(RequestAdmission, engine=engine, settings=settings, routes=app.state.route_map)
    app.add_middleware(LastResort)
    app.add_middleware(Tracing)
    app.add_middleware(AnswerHeaders)
    return app
