"""How much there is, and how fast it goes: figures whose cost is bounded, however many jobs there are."""

from __future__ import annotations

from typing import Any

from holdfast.store.port import Store
from holdfast.views.job import iso, label
from holdfast.views.queues import living, queue_view, queues

CAP = 10_000
"""No figure is counted further."""
LATELY_MS = 60_000


async def statistics(store: Store) -> dict[str, Any]:
    """Jobs by lifecycle and state, queues, and what happened in the last minute.

    A figure that is not `exact` is a lower bound: of each state the newest CAP jobs are counted.
    """
    now_ms = await store.now_ms()
    tables = await store.reads.lifecycles()
    counted = await store.reads.counts(cap=CAP)
    of_state: dict[str, int] = {}
    for (_, state), count in counted.items():
        of_state[state] = of_state.get(state, 0) + count
    types = [
        event for table in tables.values() for event in (table.submit_event, *(r.event for r in table.transitions))
    ]
    happened = await store.reads.events_since(types, now_ms - LATELY_MS, cap=CAP)
    return {
        "at": iso(now_ms),
        "states": [{"state": state, "count": count, "exact": count < CAP} for state, count in sorted(of_state.items())],
        "jobs": [
            {
                "lifecycle": lifecycle,
                "state": label(tables.get(lifecycle), state),
                "canonical_state": state,
                "count": count,
                "exact": of_state[state] < CAP,
            }
            for (lifecycle, state), count in sorted(counted.items())
        ],
        "queues": [queue_view(queue) for queue in await queues(store)],
        "workers": len(living(await store.admin.workers.list(), now_ms)),
        "last_minute": [
            {"event": event, "count": count, "exact": count < CAP} for event, count in sorted(happened.items()) if count
        ],
    }
