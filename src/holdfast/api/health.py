"""Whether the server is alive, whether it can work, and what it counts: asked by who starts and watches it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from prometheus_client import ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from starlette.responses import Response

from holdfast.api.access.keys import Scope
from holdfast.api.access.scopes import needs
from holdfast.api.deps import EngineDep
from holdfast.api.problems.kinds import PROBLEM_SCHEMA, unavailable
from holdfast.observe.logs import get_logger
from holdfast.runtime.inside import Inside
from holdfast.views.metrics_feed import MetricsFeed

READY_S = 3.0
"""A database that takes longer to say its migrations is not one to work with."""

NOT_READY: dict[int | str, dict[str, Any]] = {
    503: {
        "description": "The database is away, or its schema is another version's.",
        "content": {"application/problem+json": {"schema": PROBLEM_SCHEMA}},
    }
}
TEXT: dict[int | str, dict[str, Any]] = {
    200: {"description": "Prometheus text, or OpenMetrics where asked for.", "content": {"text/plain": {}}}
}

log = get_logger("holdfast.api")
router = APIRouter(tags=["health"])


@router.get("/healthz")
@needs(None)
async def healthz() -> dict[str, str]:
    """The process runs, and its loop turns."""
    return {"status": "ok"}


@router.get("/readyz", responses=NOT_READY)
@needs(None)
async def readyz(engine: EngineDep) -> dict[str, str]:
    """The database answers, and its schema is that of this version."""
    try:
        async with asyncio.timeout(READY_S):
            store = await engine.opened()
            schema = await store.schema()
    except Exception as error:
        log.warning("not_ready", error=str(error) or type(error).__name__)
        raise unavailable("the database does not answer") from error
    if refusal := schema.refusal():
        raise unavailable(str(refusal))
    if schema.pending:
        raise unavailable(f"the database lacks migrations: {', '.join(schema.pending)}; run `holdfast db migrate`")
    return {"status": "ready"}


@router.get("/metrics", response_class=Response, responses=TEXT)
@needs(Scope.READ)
async def metrics(request: Request) -> Response:
    """What this process counts of the whole database since it started, and how things stand now."""
    feed = await metrics_of(request.app)
    scraped = Scraped(await feed.scrape())
    encode, media_type = choose_encoder(request.headers.get("accept", ""))
    return Response(encode(scraped), media_type=media_type)


async def metrics_of(app: FastAPI) -> MetricsFeed:
    """The application's metrics. They count from the first time that somebody asks for them, a server at its start."""
    engine: Inside = app.state.engine
    store = await engine.opened()
    if not hasattr(app.state, "metrics"):
        app.state.metrics = MetricsFeed(store)
    feed: MetricsFeed = app.state.metrics
    return feed


class Scraped(Collector):
    """Families that were read already, and the process's own, for an encoder."""

    def __init__(self, families: Sequence[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return [*self._families, *_process.collect()]


_process = ProcessCollector(registry=None)
