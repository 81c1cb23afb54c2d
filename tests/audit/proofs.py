"""The two kinds of proofs of a Merkle tree: made of stored tiles, and checked as RFC 9162 says."""

from collections.abc import Sequence

from audit.log import tiles
from audit.log.merkle import EMPTY_ROOT, HASH_SIZE, node_hash
from audit.log.tiles import Place, Range, Tiles


def needed_for_inclusion(index: int, size: int) -> set[Place]:
    """The tiles, (level, index), that `inclusion_proof` reads."""
    return tiles.needed(tiles.siblings(index, size))


def inclusion_proof(index: int, size: int, stored: Tiles) -> list[bytes]:
    """The proof that the leaf at `index` is in the tree of `size` leaves; raises BadTiles."""
    return [tiles.hash_of(leaves, stored) for leaves in tiles.siblings(index, size)]


def needed_for_consistency(old: int, new: int) -> set[Place]:
    """The tiles, (level, index), that `consistency_proof` reads."""
    return tiles.needed(_consistency(old, new))


def consistency_proof(old: int, new: int, stored: Tiles) -> list[bytes]:
    """The proof that the tree of `new` leaves began with the one of `old`; raises BadTiles."""
    return [tiles.hash_of(leaves, stored) for leaves in _consistency(old, new)]


def verify_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """Whether the proof shows that the leaf with this hash is at `index` of the tree with `size` leaves and `root`.

    RFC 9162, 2.1.3.2.
    """
    if not 0 <= index < size or not _are_hashes(leaf, root, *proof):
        return False
    first, last, node = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            return False
        if first & 1 or first == last:
            node = node_hash(sibling, node)
            while first & 1 == 0 and first:
                first, last = first >> 1, last >> 1
        else:
            node = node_hash(node, sibling)
        first, last = first >> 1, last >> 1
    return last == 0 and node == root


def verify_consistency(size1: int, root1: bytes, size2: int, root2: bytes, proof: Sequence[bytes]) -> bool:
    """Whether the proof shows that the tree with `size1` leaves and `root1` is how the other one began.

    RFC 9162, 2.1.4.2. Every tree began empty, which needs no proof.
    """
    if not 0 <= size1 <= size2 or not _are_hashes(root1, root2, *proof):
        return False
    if size1 == 0:
        return root1 == EMPTY_ROOT and not proof and (size2 > 0 or root2 == EMPTY_ROOT)
    if size1 == size2:
        return root1 == root2 and not proof
    path = list(proof)
    if size1 & (size1 - 1) == 0:
        path.insert(0, root1)
    if not path:
        return False
    first, last = size1 - 1, size2 - 1
    while first & 1:
        first, last = first >> 1, last >> 1
    old = new = path[0]
    for sibling in path[1:]:
        if last == 0:
            return False
        if first & 1 or first == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            while first & 1 == 0 and first:
                first, last = first >> 1, last >> 1
        else:
            new = node_hash(new, sibling)
        first, last = first >> 1, last >> 1
    return last == 0 and old == root1 and new == root2


def _are_hashes(*values: bytes) -> bool:
    return all(len(value) == HASH_SIZE for value in values)


def _consistency(old: int, new: int) -> list[Range]:
    """The nodes that both trees are made from (RFC 9162, 2.1.4.1)."""
    if not 0 <= old <= new:
        raise ValueError(f"a tree of {new} leaves did not begin with one of {old}")
    if old in (0, new):
        return []
    nodes = []
    begin, end, whole = 0, new, True
    while old != end:
        middle = begin + tiles._left(end - begin)
        if old <= middle:
            nodes.append((middle, end))
            end = middle
        else:
            nodes.append((begin, middle))
            begin, whole = middle, False
    # The verifier knows the old root, which is this node when the old tree is one complete subtree.
    return ([] if whole else [(begin, end)]) + nodes[::-1]
