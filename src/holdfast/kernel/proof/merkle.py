"""Merkle trees hashed as in RFC 6962: one root stands for a whole sequence, a short proof for one member.

Leaves are given as leaf hashes. Neighbours are paired level by level and an odd last node moves up
unhashed, which yields the same tree as the RFC's recursive split at the largest power of two.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

HASH_BYTES = 32
EMPTY_ROOT = sha256(b"").digest()

# Bounds the work a hostile size can cause in `verify`; no tree comes near it.
_MAX_SIZE = 2**64


def leaf_hash(data: bytes) -> bytes:
    """The hash of a leaf; its prefix keeps a leaf from passing for a node."""
    return sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node over its two children."""
    return sha256(b"\x01" + left + right).digest()


def root(leaves: Sequence[bytes]) -> bytes:
    """The root over `leaves`; EMPTY_ROOT when there are none."""
    if not leaves:
        return EMPTY_ROOT
    level = leaves
    while len(level) > 1:
        level = _level_above(level)
    return level[0]


def proof(leaves: Sequence[bytes], index: int) -> tuple[bytes, ...]:
    """The siblings on the way from leaf `index` to the root, lowest first.

    Raises IndexError when there is no such leaf.
    """
    if not 0 <= index < len(leaves):
        raise IndexError(f"no leaf {index} in a tree of {len(leaves)}")
    siblings = []
    level = leaves
    while len(level) > 1:
        if index ^ 1 < len(level):
            siblings.append(level[index ^ 1])
        level = _level_above(level)
        index >>= 1
    return tuple(siblings)


def verify(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """Whether `proof` shows that `leaf` is number `index` of the `size` leaves under `root`.

    False, never an exception, for lengths and numbers that make no sense. A root does not commit to the size
    of its tree: take `size` from where the root was recorded, since a size of the same path shape passes too.
    """
    if not 0 <= index < size <= _MAX_SIZE:
        return False
    if any(len(digest) != HASH_BYTES for digest in (leaf, root, *proof)):
        return False
    siblings = iter(proof)
    digest = leaf
    while size > 1:
        if index ^ 1 < size:
            sibling = next(siblings, None)
            if sibling is None:
                return False
            digest = node_hash(sibling, digest) if index & 1 else node_hash(digest, sibling)
        index >>= 1
        size = (size + 1) >> 1
    return next(siblings, None) is None and digest == root


class Accumulator:
    """A root that grows leaf by leaf and remembers only one hash per set bit of its size."""

    __slots__ = ("_peaks", "_size")

    def __init__(self) -> None:
        self._peaks: list[bytes] = []
        self._size = 0

    @property
    def size(self) -> int:
        """How many leaves were appended."""
        return self._size

    def append(self, leaf: bytes) -> None:
        """Add a leaf hash at the end."""
        peaks = self._peaks
        carry = self._size
        while carry & 1:
            leaf = sha256(b"\x01" + peaks.pop() + leaf).digest()
            carry >>= 1
        peaks.append(leaf)
        self._size += 1

    def root(self) -> bytes:
        """The root over all leaves so far, equal to `root` over the same sequence."""
        if not self._peaks:
            return EMPTY_ROOT
        digest = self._peaks[-1]
        for peak in reversed(self._peaks[:-1]):
            digest = node_hash(peak, digest)
        return digest


def _level_above(level: Sequence[bytes]) -> list[bytes]:
    # node_hash spelled out: this is the hot loop, and the call would be a tenth of its time.
    pairs = zip(level[::2], level[1::2], strict=False)
    above = [sha256(b"\x01" + left + right).digest() for left, right in pairs]
    if len(level) & 1:
        above.append(level[-1])
    return above
