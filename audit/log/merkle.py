"""The RFC 6962 Merkle tree over the log's leaves: hashes and roots."""

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
