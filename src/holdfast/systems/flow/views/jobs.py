"""Flows and their nodes where all jobs are shown: their fields, why they are where they are, their graph and result."""

from __future__ import annotations

import json
from typing import Any

from holdfast.kernel.event import Event
from holdfast.kernel.graph.flow_lifecycle import FLOW
from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.store.port import Store
from holdfast.systems.flow.views.flow import flow_graph_view
from holdfast.systems.flow.views.run import results_at_ends
from holdfast.systems.flow.views.words import flow_words, node_words
from holdfast.views.job import iso
from holdfast.views.of_systems import Views, Words


class FlowViews(Views):
    def fields(self, job: Job, table: Lifecycle) -> dict[str, Any]:
        """What the document of the lifecycle of nodes calls them."""
        if table.name == FLOW.name:
            return {}
        own: dict[str, Any] = json.loads(job.options) if job.options else {}
        usual = table.policies.retry
        expires_ms = None if job.expires_at_ms is None else job.expires_at_ms - job.created_at_ms
        return {
            "name": job.task,
            "data": None if job.payload is None else json.loads(job.payload),
            "retry_limit": job.max_tries - 1,
            "retry_delay": own.get("retry_delay_ms", usual.base_ms) / 1_000,
            "retry_backoff": own.get("retry_backoff", usual.factor > 1),
            "start_after": iso(job.due_at_ms),
            "expire_in_seconds": None if expires_ms is None else expires_ms / 1_000,
        }

    async def words(self, store: Store, job: Job, last: Event | None) -> Words:
        return await flow_words(store, job) if job.lifecycle == FLOW.name else await node_words(store, job, last)

    async def graph(self, store: Store, job: Job) -> dict[str, Any] | None:
        return await flow_graph_view(store, job)

    async def result(self, store: Store, job: Job, result: Any) -> Any:
        """Of a flow, what came out of each node that nothing waits for."""
        return await results_at_ends(store, job.id) if job.lifecycle == FLOW.name else result


VIEWS = FlowViews()
