"""The Merkle tree against the published vectors and against the RFC's recursive definition."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.kernel.proof import merkle

# The sample data and roots of the Certificate Transparency reference implementation, one root per prefix.
CT_LEAVES = [
    bytes.fromhex(text)
    for text in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
CT_ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


def leaves_of(size: int) -> list[bytes]:
    return [merkle.leaf_hash(str(number).encode()) for number in range(size)]


def recursive_root(leaves: list[bytes]) -> bytes:
    """MTH of RFC 6962, section 2.1, word for word."""
    if not leaves:
        return sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    split = split_of(len(leaves))
    return sha256(b"\x01" + recursive_root(leaves[:split]) + recursive_root(leaves[split:])).digest()


def recursive_proof(leaves: list[bytes], index: int) -> list[bytes]:
    """PATH of RFC 6962, section 2.1.1, word for word."""
    if len(leaves) == 1:
        return []
    split = split_of(len(leaves))
    if index < split:
        return [*recursive_proof(leaves[:split], index), recursive_root(leaves[split:])]
    return [*recursive_proof(leaves[split:], index - split), recursive_root(leaves[:split])]


def sides(index: int, size: int) -> str:
    """On which side the siblings of a leaf lie, from the leaf up."""
    if size == 1:
        return ""
    split = split_of(size)
    return sides(index, split) + "r" if index < split else sides(index - split, size - split) + "l"


def split_of(size: int) -> int:
    split = 1
    while split * 2 < size:
        split *= 2
    return split


@pytest.mark.parametrize("size", range(9))
def test_published_roots(size: int) -> None:
    leaves = [merkle.leaf_hash(data) for data in CT_LEAVES[:size]]
    assert merkle.root(leaves).hex() == CT_ROOTS[size]


def test_leaf_and_node_are_told_apart() -> None:
    left, right = leaves_of(2)
    assert merkle.leaf_hash(left + right) != merkle.node_hash(left, right)


@given(st.lists(st.binary(max_size=8), max_size=70))
def test_root_and_accumulator_match_the_recursive_definition(data: list[bytes]) -> None:
    leaves = [merkle.leaf_hash(item) for item in data]
    accumulator = merkle.Accumulator()
    for leaf in leaves:
        accumulator.append(leaf)
    assert merkle.root(leaves) == accumulator.root() == recursive_root(leaves)
    assert accumulator.size == len(leaves)


def test_accumulator_has_a_root_after_every_append() -> None:
    accumulator = merkle.Accumulator()
    assert accumulator.root() == merkle.EMPTY_ROOT
    leaves = leaves_of(40)
    for size, leaf in enumerate(leaves, start=1):
        accumulator.append(leaf)
        assert accumulator.root() == merkle.root(leaves[:size])


@given(st.integers(1, 70))
def test_every_index_has_a_proof_that_verifies(size: int) -> None:
    leaves = leaves_of(size)
    root = merkle.root(leaves)
    for index, leaf in enumerate(leaves):
        proof = merkle.proof(leaves, index)
        assert list(proof) == recursive_proof(leaves, index)
        assert merkle.verify(leaf, index, size, proof, root)


@pytest.mark.slow
@given(st.data())
def test_any_flipped_bit_fails(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 40))
    index = data.draw(st.integers(0, size - 1))
    leaves = leaves_of(size)
    parts = [leaves[index], merkle.root(leaves), *merkle.proof(leaves, index)]
    flipped = data.draw(st.integers(0, len(parts) - 1))
    bit = data.draw(st.integers(0, 255))
    parts[flipped] = (int.from_bytes(parts[flipped], "big") ^ (1 << bit)).to_bytes(32, "big")
    leaf, root, *proof = parts
    assert not merkle.verify(leaf, index, size, proof, root)


@given(st.integers(1, 40), st.integers(0, 39), st.integers(-2, 80))
def test_wrong_index_fails(size: int, index: int, claimed: int) -> None:
    index %= size
    leaves = leaves_of(size)
    verified = merkle.verify(leaves[index], claimed, size, merkle.proof(leaves, index), merkle.root(leaves))
    assert verified == (claimed == index)


@given(st.integers(1, 40), st.integers(0, 39), st.integers(-2, 80))
def test_wrong_size_fails_unless_the_path_has_the_same_shape(size: int, index: int, claimed: int) -> None:
    index %= size
    leaves = leaves_of(size)
    verified = merkle.verify(leaves[index], index, claimed, merkle.proof(leaves, index), merkle.root(leaves))
    assert verified == (claimed > index and sides(index, claimed) == sides(index, size))


def test_malformed_input_is_false_and_no_exception() -> None:
    leaves = leaves_of(5)
    root, proof = merkle.root(leaves), merkle.proof(leaves, 2)
    assert merkle.verify(leaves[2], 2, 5, proof, root)
    assert not merkle.verify(b"", 2, 5, proof, root)
    assert not merkle.verify(leaves[2], 2, 5, proof, root[:-1])
    assert not merkle.verify(leaves[2], 2, 5, proof[:-1], root)
    assert not merkle.verify(leaves[2], 2, 5, (*proof, root), root)
    assert not merkle.verify(leaves[2], 2, 5, (b"", *proof[1:]), root)
    assert not merkle.verify(leaves[2], 2, 2**5000, proof, root)
    assert not merkle.verify(leaves[0], 0, 0, (), merkle.EMPTY_ROOT)


@pytest.mark.parametrize("index", [-1, 3])
def test_no_proof_for_a_leaf_that_is_not_there(index: int) -> None:
    with pytest.raises(IndexError, match=f"no leaf {index} in a tree of 3"):
        merkle.proof(leaves_of(3), index)


def test_a_large_tree_needs_no_recursion() -> None:
    leaves = leaves_of(100_001)
    index = 77_777
    assert merkle.verify(leaves[index], index, len(leaves), merkle.proof(leaves, index), merkle.root(leaves))
