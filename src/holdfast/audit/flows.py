"""The audit's look at flows: what each has counted against what its nodes came to.

The database lives on meanwhile: a flow that looks wrong is read again, until it held still while it was read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.audit.findings import Findings
from holdfast.kernel.graph.joins import breaches
from holdfast.store.port import Reads

FLOWS_AT_ONCE = 500
NODES_AT_ONCE = 20_000
LOOKS = 20


async def check_flows(reads: Reads, findings: Findings) -> None:
    """Every breach of I14."""
    after = ""
    while sizes := await reads.flow_sizes(after, FLOWS_AT_ONCE):
        for first, last in _shares(sizes):
            for flow_id in breaches(await reads.joins(first, last)):
                await _confirm(reads, findings, flow_id)
        after = sizes[-1][0]


def _shares(sizes: Sequence[tuple[str, int]]) -> Iterator[tuple[str, str]]:
    """From which flow to which: as many at a time as have few enough nodes together."""
    first, nodes = sizes[0][0], 0
    last = first
    for flow_id, size in sizes:
        if nodes and nodes + size > NODES_AT_ONCE:
            yield first, last
            first, nodes = flow_id, 0
        last = flow_id
        nodes += size
    yield first, last


async def _confirm(reads: Reads, findings: Findings, flow_id: str) -> None:
    """Look again until its counts held still while its nodes were read; report what is still wrong then."""
    seen = await reads.joins(flow_id, flow_id)
    for _ in range(LOOKS):
        before, seen = seen, await reads.joins(flow_id, flow_id)
        if before.flows == seen.flows:
            findings.add(*breaches(before).get(flow_id, ()))
            return
