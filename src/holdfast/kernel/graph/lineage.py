"""Which flow goes on with which: the new one names the old as its parent, under a key of which there is one at most."""

from __future__ import annotations

from holdfast.kernel.job import Job


def retry_key(flow_id: str) -> str:
    """The key of the flow that goes on with this one."""
    return f"retry:{flow_id}"


def earlier(flow: Job) -> str | None:
    """The flow that this one goes on with; None for one that began anew."""
    return flow.parent_id if flow.parent_id and flow.key == retry_key(flow.parent_id) else None
