"""The bytes that everything rests on: leaves, manifests, headers, ranges."""

import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.kernel.event import Event, leaf
from holdfast.kernel.proof.merkle import leaf_hash
from holdfast.kernel.proof.purge import Ranges, pack_ranges, purge_digest
from holdfast.kernel.proof.seal import Header, header_leaf, pack, unpack

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
DIGEST = st.binary(min_size=32, max_size=32)
IDS = st.uuids().map(str)
EVENTS = st.builds(
    Event,
    pos=st.integers(1, 2**62),
    job_id=IDS,
    seq=st.integers(1, 2**31 - 1),
    type=TEXT,
    from_state=st.none() | TEXT,
    to_state=TEXT,
    at_ms=st.integers(0, 2**62),
    actor=TEXT,
    attempt=st.integers(1, 2**31 - 1),
    reason=st.none() | TEXT,
    cause=st.none() | TEXT,
    payload=st.none(),
    payload_digest=st.none() | DIGEST,
    digest=st.none() | DIGEST,
    schema_version=st.just(1),
)


def bare(pos: int, job_id: str, seq: int) -> Event:
    return Event(pos, job_id, seq, "t", None, "queued", 1, "a", 1, None, None, None, None, None, 1)


@given(EVENTS)
def test_a_leaf_is_the_hash_of_plain_json(event: Event) -> None:
    fields = [value.hex() if isinstance(value, bytes) else value for value in event[:15]]
    payload = fields[12]
    plain = [*fields[:11], payload, *fields[13:]]
    assert leaf(event) == leaf_hash(json.dumps(plain, separators=(",", ":")).encode())


@given(TEXT)
def test_a_purged_payload_leaves_the_leaf_as_it_was(payload: str) -> None:
    event = bare(1, "id", 1)._replace(payload=payload)
    purged = event._replace(payload=None, payload_digest=sha256(payload.encode()).digest())
    assert leaf(event) == leaf(purged)


@given(st.lists(st.tuples(st.integers(1, 2**40), IDS, st.integers(1, 70_000), DIGEST), unique_by=lambda e: e[0]))
def test_a_manifest_gives_back_what_was_packed(rows: list[tuple[int, str, int, bytes]]) -> None:
    rows.sort()
    events = [bare(pos, job, seq) for pos, job, seq, _ in rows]
    manifest = pack(events, [row[3] for row in rows])
    assert [tuple(entry) for entry in unpack(manifest)] == rows


@given(st.binary(max_size=200))
def test_what_is_no_manifest_is_refused(data: bytes) -> None:
    try:
        unpack(data)
    except ValueError:
        return
    assert data[0] == 1


def test_a_manifest_costs_little_more_than_its_hashes() -> None:
    events = [bare(n, f"00000000-0000-7000-8000-{n // 4:012x}", n % 4 + 1) for n in range(1, 4097)]
    assert len(pack(events, [bytes(32)] * 4096)) / 4096 < 41


@pytest.mark.parametrize("field", Header._fields)
def test_every_field_of_a_header_is_in_its_leaf(field: str) -> None:
    header = Header(1, 2, 3, 2, b"r" * 32, b"p" * 32, b"q" * 32, 9)
    value = getattr(header, field)
    fields: dict[str, Any] = {field: value + 1 if isinstance(value, int) else b"x" * 32}
    assert header_leaf(header) != header_leaf(header._replace(**fields))


@given(st.sets(st.integers(1, 300), min_size=1))
def test_ranges_hold_exactly_what_was_put_in(positions: set[int]) -> None:
    ranges = Ranges(pack_ranges(positions))
    assert {pos for pos in range(-2, 305) if pos in ranges} == positions
    assert ranges.count == len(positions)


@pytest.mark.parametrize("text", ["", "{}", "[1]", "[1,2.5]", '["a",1]', "null", "[true,1]"])
def test_what_are_no_ranges_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        Ranges(text)


def test_every_field_of_a_purge_is_in_its_digest() -> None:
    said: tuple[Any, ...] = (1, 2, "jobs", 3, 4, 5, 6, "[5,2]")
    whole = purge_digest(bytes(32), *said)
    others = [
        (*said[:n], f"{value}x" if isinstance(value, str) else value + 1, *said[n + 1 :])
        for n, value in enumerate(said)
    ]
    digests = {purge_digest(bytes(32), *other) for other in others} | {purge_digest(b"x" * 32, *said)}
    assert len(digests - {whole}) == len(said) + 1
