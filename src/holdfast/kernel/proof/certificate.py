"""A job's certificate, checked with nothing but itself: its events, proven to be under one head of the log.

A certificate says what a job was and became up to its last event in it. Whoever knows the head from elsewhere
(printed, mailed, published) knows with it that none of this was written later. Payloads may be gone: digests
stand in for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.event import Event, leaf
from holdfast.kernel.job import Spec, spec_digest, text_digest
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.proof.invariants import Inspector
from holdfast.kernel.proof.merkle import verify as proves
from holdfast.kernel.proof.replay import Replayed
from holdfast.kernel.proof.seal import Header, header_leaf

FORMAT = "holdfast-certificate/1"

SPEC = (
    "id",
    "lifecycle",
    "task",
    "queue",
    "priority",
    "max_tries",
    "lease_ms",
    "keep_until_ms",
    "key_scope",
    "key",
    "correlation_id",
    "trace_id",
    "parent_id",
    "tags",
    "options",
)
"""The columns that the first event binds as they are."""

FIELDS_OF_REPLAY = (
    "attempt",
    "version",
    "tries",
    "losses",
    "created_at_ms",
    "changed_at_ms",
    "started_at_ms",
    "finished_at_ms",
)
"""The columns that the events determine."""

EVENT = Event._fields[:15]


class CertificateVerdict(NamedTuple):
    """Whether a certificate holds, and if not, everything that is wrong with it."""

    ok: bool
    problems: list[str]
    job_id: str | None = None
    lifecycle: str | None = None
    state: str | None = None
    events: int = 0
    head: str | None = None
    seals: int = 0
    sealed_at_ms: int | None = None


def verify(data: Mapping[str, Any], known: Mapping[str, Lifecycle]) -> CertificateVerdict:
    """Check every proof, that the events are dense and follow the table, and that they say what the job says.

    `known` are the tables whose names say what they are: a certificate cannot bring another one under such a name.

    Never raises: a text that is no certificate has that as its problem.
    """
    try:
        return _Check(data, known).verdict()
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        IndexError,
        OverflowError,
        HoldfastError,
    ) as error:
        return CertificateVerdict(False, [f"not a certificate that can be read ({type(error).__name__}: {error})"])


def _is_of(stated: Mapping[str, Any], known: Mapping[str, Any]) -> bool:
    """Whether a table is the known one, or that of an earlier version, which had some of its rows."""
    rows = stated["transitions"]
    return {**stated, "transitions": known["transitions"]} == known and all(row in known["transitions"] for row in rows)


class _Check:
    def __init__(self, data: Mapping[str, Any], known: Mapping[str, Lifecycle]) -> None:
        self._problems: list[str] = []
        self._data = data
        self._known = known
        self._expect(data["format"] == FORMAT, f"the format is {data['format']!r}, not {FORMAT!r}")
        self._keys("certificate", data, ("format", "job", "lifecycle", "events", "seals", "head"))
        self._job: Mapping[str, Any] = data["job"]
        self._size = int(data["head"]["seal"])
        self._root = _bytes(data["head"]["root"])
        self._headers: dict[int, Header] = {}

    def _expect(self, holds: bool, problem: str) -> None:
        if not holds:
            self._problems.append(problem)

    def _keys(self, what: str, part: Mapping[str, Any], names: tuple[str, ...]) -> None:
        self._expect(set(part) == set(names), f"the {what} has other fields than it should")

    def verdict(self) -> CertificateVerdict:
        table = self._table()
        self._seals()
        events = [self._event(item) for item in self._data["events"]]
        replayed, breaches = Inspector({table.name: table}).events(table.name, events)
        self._problems += [str(breach) for breach in breaches]
        if replayed is not None and events:
            self._what_it_was(events[0])
            self._what_it_became(table, replayed)
        self._expect(bool(events), "it has no events")
        self._expect(all(event.job_id == self._job["id"] for event in events), "an event is of another job")
        newest = self._headers.get(self._size)
        return CertificateVerdict(
            ok=not self._problems,
            problems=self._problems,
            job_id=self._job["id"],
            lifecycle=table.name,
            state=self._job["state"],
            events=len(events),
            head=self._root.hex(),
            seals=self._size,
            sealed_at_ms=newest.sealed_at_ms if newest else None,
        )

    def _table(self) -> Lifecycle:
        stated = self._data["lifecycle"]
        table = Lifecycle.from_dict(stated)
        known = self._known.get(table.name)
        self._expect(table.name == self._job["lifecycle"], "its lifecycle is not the job's")
        fits = known is None or _is_of(stated, known.to_dict())
        self._expect(fits, f"its table is not the one that {table.name!r} names")
        self._expect(table.to_dict() == stated, "its table does not say of its states what they are")
        return table

    def _seals(self) -> None:
        """Every header is under the head; the newest one says how many there are."""
        self._keys("head", self._data["head"], ("seal", "root"))
        for item in self._data["seals"]:
            self._keys("seal", item, (*Header._fields, "proof"))
            header = _header(item)
            self._headers[header.number] = header
            path = [_bytes(node) for node in item["proof"]]
            self._expect(
                proves(header_leaf(header), header.number - 1, self._size, path, self._root),
                f"seal {header.number} is not under the head",
            )
        self._expect(self._size in self._headers, "the seal that the head belongs to is not in it")
        self._expect(len(self._headers) == len(self._data["seals"]), "a seal stands in it twice")

    def _event(self, item: Mapping[str, Any]) -> Event:
        self._keys("event", item, (*EVENT, "seal", "index", "proof"))
        fields = {name: item[name] for name in EVENT}
        body, stated = fields["payload"], _digest(fields["payload_digest"])
        self._expect(
            body is None or text_digest(body) == stated,
            f"the payload of event {item['seq']} is not what it was",
        )
        event = Event(**{**fields, "payload_digest": stated, "digest": _digest(fields["digest"])})
        header = self._headers.get(item["seal"])
        path = [_bytes(node) for node in item["proof"]]
        self._expect(
            header is not None
            and header.first_pos <= event.pos <= header.last_pos
            and proves(leaf(event), item["index"], header.count, path, header.root),
            f"event {event.seq} is not under seal {item['seal']}",
        )
        return event

    def _what_it_was(self, first: Event) -> None:
        job = self._job
        names = (
            *SPEC,
            *FIELDS_OF_REPLAY,
            "expire_after_ms",
            "state",
            "payload",
            "payload_digest",
            "outcome",
            "outcome_digest",
        )
        self._keys("job", job, names)
        for body in ("payload", "outcome"):
            kept = _digest(job[f"{body}_digest"])
            self._expect(job[body] is None or text_digest(job[body]) == kept, f"the {body} is not what it was")
        spec = Spec(**{name: job[name] for name in SPEC})
        bound = spec_digest(spec, expire_after_ms=job["expire_after_ms"], payload=_digest(job["payload_digest"]))
        self._expect(first.digest == bound, "the job's first event binds another job than this one")

    def _what_it_became(self, table: Lifecycle, replayed: Replayed) -> None:
        job = self._job
        for name in FIELDS_OF_REPLAY:
            self._expect(job[name] == getattr(replayed, name), f"{name} is not what its events say")
        self._expect(job["state"] == str(table.state(replayed.state)), "the state is not where its events end")
        self._expect(
            _digest(job["outcome_digest"]) == replayed.outcome_digest,
            "the outcome is not the one its events bind",
        )


def _bytes(text: str) -> bytes:
    if text != text.lower() or len(text) != 64:
        raise ValueError(f"{text[:80]!r} is no hash")
    return bytes.fromhex(text)


def _digest(text: str | None) -> bytes | None:
    return None if text is None else _bytes(text)


def _header(item: Mapping[str, Any]) -> Header:
    fields = {name: item[name] for name in Header._fields}
    hashes = {name: _bytes(fields[name]) for name in ("root", "previous", "purges")}
    return Header(**{**fields, **hashes})
