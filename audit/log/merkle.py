"""The RFC 6962 Merkle tree over the log's leaves: hashes, roots, and the two kinds of proofs, checked."""

import hashlib
from collections.abc import Iterable, Sequence

HASH_SIZE = 32
EMPTY_ROOT = hashlib.sha256().digest()


def leaf_hash(data: bytes) -> bytes:
    """The 32-byte hash of a leaf."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The 32-byte hash of an inner node."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Frontier:
    """A tree that only grows and remembers no more than its complete subtrees: O(log n) hashes.

    `nodes` are those of `size` leaves, from the largest subtree to the smallest, when it does not start empty.
    """

    def __init__(self, size: int = 0, nodes: Sequence[bytes] = ()) -> None:
        if len(nodes) != size.bit_count():
            raise ValueError(f"a tree of {size} leaves has {size.bit_count()} complete subtrees, not {len(nodes)}")
        self.size = size
        self.nodes = list(nodes)

    def append(self, leaf: bytes) -> None:
        """Add a leaf, given its hash."""
        node, carry = leaf, self.size
        while carry & 1:
            node = node_hash(self.nodes.pop(), node)
            carry >>= 1
        self.nodes.append(node)
        self.size += 1

    def root(self) -> bytes:
        """The root over the leaves so far."""
        return fold(self.nodes)


def fold(nodes: Sequence[bytes]) -> bytes:
    """The root over complete subtrees, from the largest on the left to the smallest on the right."""
    if not nodes:
        return EMPTY_ROOT
    *others, root = nodes
    for node in reversed(others):
        root = node_hash(node, root)
    return root


def root(hashes: Iterable[bytes]) -> bytes:
    """The root over leaves, given their hashes."""
    frontier = Frontier()
    for each in hashes:
        frontier.append(each)
    return frontier.root()


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
