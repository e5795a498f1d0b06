"""Making a job's certificate: its events, and for each the way to the newest head of the log."""

from __future__ import annotations

from typing import Any

from holdfast.kernel.errors import HoldfastError, NotFoundError
from holdfast.kernel.event import Event, leaf
from holdfast.kernel.job import Job, text_digest
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.proof.certificate import EVENT, FIELDS_OF_REPLAY, FORMAT, SPEC
from holdfast.kernel.proof.invariants import expire_after
from holdfast.kernel.proof.merkle import proof
from holdfast.kernel.proof.replay import replay
from holdfast.kernel.proof.seal import Entry, Header, header_leaf, unpack
from holdfast.store.port import SealRow, Store


class NotProvenError(HoldfastError):
    """The job cannot be proven."""


async def prove(store: Store, job_id: str) -> dict[str, Any]:
    """A certificate of the job up to now, fit for JSON: see `kernel.proof.certificate.verify`.

    NotFoundError for an unknown job; NotProvenError when an event is not sealed yet, or not as it was sealed.
    """
    job = await store.reads.get(job_id)
    if job is None:
        raise NotFoundError("job", job_id)
    table = (await store.reads.lifecycles())[job.lifecycle]
    events = await store.reads.events(job_id)
    seals = await _seals_of(store, events)
    leaves, newest = await _headers(store)
    numbers = sorted({seal.number for seal, _ in seals.values()} | {newest.number})
    rows = {seal.number: seal for seal, _ in seals.values()} | {newest.number: newest}
    return {
        "format": FORMAT,
        "job": _job(job, table, events),
        "lifecycle": table.to_dict(),
        "events": [_event(event, *seals[event.pos]) for event in events],
        "seals": [
            {**_plain(rows[number], Header._fields), "proof": [node.hex() for node in proof(leaves, number - 1)]}
            for number in numbers
        ],
        "head": {"seal": newest.number, "root": newest.head.hex()},
    }


async def _seals_of(store: Store, events: list[Event]) -> dict[int, tuple[SealRow, list[Entry]]]:
    """Position → the seal that covers it and what that seal lists."""
    found: dict[int, tuple[SealRow, list[Entry]]] = {}
    known: list[tuple[SealRow, list[Entry]]] = []
    for event in events:
        have = next((pair for pair in known if pair[0].first_pos <= event.pos <= pair[0].last_pos), None)
        if have is None:
            seal = await store.reads.seal_of(event.pos)
            if seal is None or seal.manifest is None or not seal.first_pos <= event.pos:
                raise NotProvenError(
                    f"event {event.seq} of job {event.job_id} is not sealed yet", remedy="run `holdfast seal`"
                )
            have = (seal, unpack(seal.manifest))
            known.append(have)
        found[event.pos] = have
    return found


async def _headers(store: Store) -> tuple[list[bytes], SealRow]:
    """The leaves of the upper tree, and the newest seal."""
    leaves: list[bytes] = []
    newest: SealRow | None = None
    while seals := await store.reads.seal_headers(len(leaves)):
        leaves += [header_leaf(seal) for seal in seals]
        newest = seals[-1]
    if newest is None:
        raise NotProvenError("nothing is sealed yet", remedy="run `holdfast seal`")
    return leaves, newest


def _event(event: Event, seal: SealRow, entries: list[Entry]) -> dict[str, Any]:
    index = next((i for i, entry in enumerate(entries) if entry.pos == event.pos), None)
    if index is None or entries[index].leaf != leaf(event):
        raise NotProvenError(
            f"event {event.seq} of job {event.job_id} is not as it was sealed",
            remedy="run `holdfast audit` to see what was changed",
        )
    digest = text_digest(event.payload, event.payload_digest)
    return {
        **_plain(event._replace(payload_digest=digest), EVENT),
        "seal": seal.number,
        "index": index,
        "proof": [node.hex() for node in proof([entry.leaf for entry in entries], index)],
    }


def _job(job: Job, table: Lifecycle, events: list[Event]) -> dict[str, Any]:
    return {
        **_plain(job, SPEC + FIELDS_OF_REPLAY),
        "state": str(table.state(job.state)),
        "expire_after_ms": expire_after(table, job, replay(table, events)),
        "payload": job.payload,
        "payload_digest": _hex(text_digest(job.payload, job.payload_digest)),
        "outcome": job.outcome,
        "outcome_digest": _hex(text_digest(job.outcome, job.outcome_digest)),
    }


def _plain(row: Any, names: tuple[str, ...]) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in names}
    return {name: value.hex() if isinstance(value, bytes) else value for name, value in values.items()}


def _hex(digest: bytes | None) -> str | None:
    return None if digest is None else digest.hex()
