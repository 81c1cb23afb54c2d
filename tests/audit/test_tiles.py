"""The stored tree: what is kept is enough for every proof, at and across the edges of tiles."""

import pytest

from audit.log import merkle, tiles
from audit.log.tiles import WIDTH, BadTiles, Place
from tests.audit import proofs

EDGES = [1, 2, 255, 256, 257, 511, 512, 513, 65_535, 65_536, 65_537]
MOST = 65_800
HASHES = [merkle.leaf_hash(number.to_bytes(4, "big")) for number in range(MOST)]


@pytest.fixture(scope="module")
def whole() -> dict[Place, bytes]:
    """The tiles of all the leaves."""
    return tiles.grown(0, HASHES, {})


@pytest.mark.parametrize("size", EDGES)
def test_the_root_at_an_edge_is_made_from_the_last_tiles_alone(whole: dict[Place, bytes], size: int) -> None:
    last = {place: whole[place] for place in tiles.edge(size)}
    assert tiles.root_of(size, last) == merkle.root(HASHES[:size])
    assert tiles.frontier(size, last).root() == merkle.root(HASHES[:size])
    assert len(last) <= 3


@pytest.mark.parametrize("size", EDGES)
def test_a_proof_at_an_edge_needs_a_tile_or_two_a_level_and_no_others(whole: dict[Place, bytes], size: int) -> None:
    root = merkle.root(HASHES[:size])
    for index in {0, size // 2, size - 1, *(edge for edge in EDGES if edge < size)}:
        needed = proofs.needed_for_inclusion(index, size)
        proof = proofs.inclusion_proof(index, size, {place: whole[place] for place in needed})
        assert proofs.verify_inclusion(HASHES[index], index, size, proof, root)
        assert len(needed) <= 5
        for place in needed:
            with pytest.raises(BadTiles):
                proofs.inclusion_proof(index, size, {other: whole[other] for other in needed - {place}})


def test_trees_on_both_sides_of_every_edge_are_consistent(whole: dict[Place, bytes]) -> None:
    roots = {size: merkle.root(HASHES[:size]) for size in EDGES}
    for old in EDGES:
        for new in EDGES:
            if old <= new:
                needed = proofs.needed_for_consistency(old, new)
                proof = proofs.consistency_proof(old, new, {place: whole[place] for place in needed})
                assert proofs.verify_consistency(old, roots[old], new, roots[new], proof)


@pytest.mark.parametrize(
    "steps", [(1,) * 600, (255, 1, 1, 255, 1), (256, 256, 300), (5_000,) * 13, (65_535, 1, 1, 263)]
)
def test_a_tree_that_grows_by_batches_is_the_tree_that_is_made_at_once(
    whole: dict[Place, bytes], steps: tuple[int, ...]
) -> None:
    size, stored = 0, dict[Place, bytes]()
    for step in steps:
        known = {place: stored[place] for place in tiles.edge(size)}
        stored |= tiles.grown(size, HASHES[size : size + step], known)
        size += step
    assert stored == tiles.grown(0, HASHES[:size], {})
    for (level, index), hashes in stored.items():
        assert whole[level, index].startswith(hashes)
        assert 0 < len(hashes) <= WIDTH * merkle.HASH_SIZE


@pytest.mark.parametrize("held", [b"", b"x" * 31, b"x" * 32 * 3, b"x" * 32 * 256])
def test_a_tree_does_not_grow_on_a_tile_of_another_length(held: bytes) -> None:
    with pytest.raises(BadTiles):
        tiles.grown(2, HASHES[2:4], {(0, 0): held})


def test_there_is_no_proof_of_what_is_not_in_the_tree() -> None:
    for index, size in ((0, 0), (1, 1), (-1, 1)):
        with pytest.raises(ValueError):
            proofs.inclusion_proof(index, size, {})
    for old, new in ((2, 1), (-1, 1)):
        with pytest.raises(ValueError):
            proofs.consistency_proof(old, new, {})


def test_any_changed_bit_of_a_tile_changes_the_root(whole: dict[Place, bytes]) -> None:
    size = 300
    last = {place: whole[place][: 32 * (44 if place[0] == 0 else 1)] for place in tiles.edge(size)}
    right = tiles.root_of(size, last)
    for place, hashes in last.items():
        for byte in range(len(hashes)):
            changed = hashes[:byte] + bytes([hashes[byte] ^ 1]) + hashes[byte + 1 :]
            assert tiles.root_of(size, last | {place: changed}) != right
