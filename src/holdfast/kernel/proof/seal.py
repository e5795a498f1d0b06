"""The seal: a batch of the log under one root, every seal so far under one head.

Two trees, as in a transparency log. The leaves of the lower one are the events of a batch, in feed order; its
root stands in the seal's header. The leaves of the upper one are the headers; its root, the head, commits to
every event that was ever sealed. The manifest lists what a seal covers: with it an audit names what changed,
and proofs can be made after retention has removed events.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple, Protocol

from holdfast.kernel.event import Event
from holdfast.kernel.proof.merkle import HASH_BYTES, leaf_hash

BATCH = 4096
"""The most events under one root."""

NOTHING = bytes(HASH_BYTES)
"""What the first seal has for the head before it, and for the purges when there were none."""

_FORMAT = 1
_ID_BYTES = 16
_FIXED = 1 + 4 + 4 + 3 + 8


class Header(NamedTuple):
    """What a head commits to of one seal."""

    number: int
    first_pos: int
    last_pos: int
    count: int  # type: ignore[assignment] # hides the tuple's own, which nobody needs
    root: bytes
    previous: bytes
    purges: bytes
    sealed_at_ms: int


class Entry(NamedTuple):
    """One leaf of a seal: where it stands, whose it is, and its hash."""

    pos: int
    job_id: str
    seq: int
    leaf: bytes


class SealLike(Protocol):
    """Anything that has a header's fields, such as a row of the seal table."""

    @property
    def number(self) -> int: ...
    @property
    def first_pos(self) -> int: ...
    @property
    def last_pos(self) -> int: ...
    @property
    def count(self) -> int: ...
    @property
    def root(self) -> bytes: ...
    @property
    def previous(self) -> bytes: ...
    @property
    def purges(self) -> bytes: ...
    @property
    def sealed_at_ms(self) -> int: ...


def header_leaf(seal: SealLike) -> bytes:
    """The leaf of the upper tree: the hash of the header's canonical form."""
    fields = [getattr(seal, name) for name in Header._fields]
    plain = [value.hex() if isinstance(value, bytes) else value for value in fields]
    return leaf_hash(json.dumps(plain, separators=(",", ":")).encode())


def pack(events: Sequence[Event], leaves: Sequence[bytes]) -> bytes:
    """The manifest of a batch: the same events give the same bytes."""
    numbers: dict[str, int] = {}
    owners = [numbers.setdefault(event[1], len(numbers)) for event in events]
    positions = [event[0] for event in events]
    steps = [after - before for before, after in pairwise(positions[:1] + positions)]
    planes = [_plane(steps), _plane(owners), _plane([event[2] for event in events])]
    return b"".join(
        [
            bytes([_FORMAT]),
            len(positions).to_bytes(4, "big"),
            len(numbers).to_bytes(4, "big"),
            bytes([width for width, _ in planes]),
            (positions[0] if positions else 0).to_bytes(8, "big", signed=True),
            *(plane for _, plane in planes),
            bytes.fromhex("".join(numbers).replace("-", "")),
            *leaves,
        ]
    )


def unpack(manifest: bytes) -> list[Entry]:
    """What a manifest lists. ValueError when it is no manifest."""
    if len(manifest) < _FIXED or manifest[0] != _FORMAT:
        raise ValueError("not a manifest of format 1")
    count, jobs = int.from_bytes(manifest[1:5], "big"), int.from_bytes(manifest[5:9], "big")
    widths = manifest[9:12]
    first = int.from_bytes(manifest[12:20], "big", signed=True)
    if len(manifest) != _FIXED + count * (sum(widths) + HASH_BYTES) + jobs * _ID_BYTES or 0 in widths:
        raise ValueError("a manifest of another length than it says")
    at = _FIXED
    planes = []
    for width in widths:
        planes.append(_numbers(manifest[at : at + width * count], width))
        at += width * count
    ids = [_id(manifest[i : i + _ID_BYTES]) for i in range(at, at + jobs * _ID_BYTES, _ID_BYTES)]
    at += jobs * _ID_BYTES
    leaves = [manifest[i : i + HASH_BYTES] for i in range(at, len(manifest), HASH_BYTES)]
    steps, owners, seqs = planes
    if max(owners, default=0) >= max(jobs, 1):
        raise ValueError("a manifest that names a job which it does not list")
    positions = accumulate(steps, initial=first)
    next(positions)
    return [
        Entry(pos, ids[owner], seq, leaf) for pos, owner, seq, leaf in zip(positions, owners, seqs, leaves, strict=True)
    ]


def _plane(numbers: Sequence[int]) -> tuple[int, bytes]:
    """Numbers at the least width that holds them all: mostly one byte each."""
    width = max(1, (max(numbers, default=0).bit_length() + 7) // 8)
    if width == 1:
        return 1, bytes(numbers)
    return width, b"".join([number.to_bytes(width, "big") for number in numbers])


def _numbers(plane: bytes, width: int) -> Iterable[int]:
    if width == 1:
        return plane
    return [int.from_bytes(plane[i : i + width], "big") for i in range(0, len(plane), width)]


def _id(raw: bytes) -> str:
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
