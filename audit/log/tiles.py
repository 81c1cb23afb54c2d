"""The Merkle tree as it is stored: tiles of up to 256 neighbouring hashes, after C2SP's tlog-tiles.

Level 0 holds the leaves' hashes; an entry of a level above is the root over a full tile below. Only the last tile
of a level is not full, and grows. A subtree's hash is made from one tile, so a proof needs about one for each level,
and any tile that is at least as new as a size serves every proof for that size.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from audit.log.merkle import EMPTY_ROOT, HASH_SIZE, Frontier, fold, root

WIDTH = 256
# WIDTH is 2 to this power.
HEIGHT = 8

Place = tuple[int, int]
Tiles = Mapping[Place, bytes]
# A run of leaves [begin, end); where `end` is not the tree's, it is one complete subtree.
Range = tuple[int, int]


class BadTiles(ValueError):
    """A tile is missing, or is not as long as the tree's size says."""


def edge(size: int) -> set[Place]:
    """The tiles that a tree of `size` leaves grows from: of each level the last one, where that is not full."""
    return {(level, count // WIDTH) for level, count in _levels(size) if count % WIDTH}


def root_of(size: int, tiles: Tiles) -> bytes:
    """The root over the first `size` leaves, from `edge(size)`; raises BadTiles."""
    return fold(_subtrees((0, size), tiles)) if size else EMPTY_ROOT


def grown(size: int, leaves: Sequence[bytes], tiles: Tiles) -> dict[Place, bytes]:
    """The tiles that change when leaves are added, given their hashes and `edge(size)`; raises BadTiles."""
    changed: dict[Place, bytes] = {}
    count, added = size, list(leaves)
    level = 0
    while added:
        first = count // WIDTH
        held = count % WIDTH
        kept = tiles.get((level, first), b"") if held else b""
        if len(kept) != held * HASH_SIZE:
            raise BadTiles(f"tile {level}/{first} holds {len(kept)} bytes, not {held * HASH_SIZE}")
        hashes = kept + b"".join(added)
        added = []
        for place in range(0, len(hashes), WIDTH * HASH_SIZE):
            tile = hashes[place : place + WIDTH * HASH_SIZE]
            changed[level, first + place // (WIDTH * HASH_SIZE)] = tile
            if len(tile) == WIDTH * HASH_SIZE:
                added.append(root(split(tile)))
        count //= WIDTH
        level += 1
    return changed


def split(hashes: bytes) -> list[bytes]:
    """A tile's hashes one by one."""
    return [hashes[start : start + HASH_SIZE] for start in range(0, len(hashes), HASH_SIZE)]


def frontier(size: int, tiles: Tiles) -> Frontier:
    """The tree of `size` leaves to add to, from `edge(size)`; raises BadTiles."""
    return Frontier(size, _subtrees((0, size), tiles) if size else [])


def _levels(size: int) -> Iterable[Place]:
    """Each level, with how many entries it has in a tree of `size` leaves."""
    level = 0
    while size:
        yield level, size
        size //= WIDTH
        level += 1


def siblings(index: int, size: int) -> list[Range]:
    """The siblings on the way from a leaf to the root of a tree of `size` leaves (RFC 9162, 2.1.3.1)."""
    if not 0 <= index < size:
        raise ValueError(f"no leaf {index} in a tree of {size}")
    found = []
    begin, end = 0, size
    while end - begin > 1:
        middle = begin + _left(end - begin)
        if index < middle:
            found.append((middle, end))
            end = middle
        else:
            found.append((begin, middle))
            begin = middle
    return found[::-1]


def _left(size: int) -> int:
    """How many of `size` leaves are below the left child: the largest power of two below `size`."""
    return 1 << (size - 1).bit_length() - 1


def _nodes(leaves: Range) -> Iterable[tuple[int, int]]:
    """The complete subtrees, as (height, place among those of that height), that a run of leaves is made of."""
    begin, end = leaves
    while begin < end:
        height = (end - begin).bit_length() - 1
        yield height, begin >> height
        begin += 1 << height


def hash_of(leaves: Range, tiles: Tiles) -> bytes:
    """The hash over a sibling's leaves; raises BadTiles."""
    return fold(_subtrees(leaves, tiles))


def needed(ranges: Iterable[Range]) -> set[Place]:
    """The tiles, (level, index), that `hash_of` reads for each."""
    return {_where(*node)[0] for leaves in ranges for node in _nodes(leaves)}


def _where(height: int, index: int) -> tuple[Place, int, int]:
    """A subtree's tile, and where in it the hashes that it is the root over begin and how many they are."""
    level, rest = divmod(height, HEIGHT)
    tile, offset = divmod(index << rest, WIDTH)
    return (level, tile), offset, 1 << rest


def _subtrees(leaves: Range, tiles: Tiles) -> list[bytes]:
    found = []
    for height, index in _nodes(leaves):
        place, offset, count = _where(height, index)
        hashes = tiles.get(place, b"")[offset * HASH_SIZE : (offset + count) * HASH_SIZE]
        if len(hashes) != count * HASH_SIZE:
            raise BadTiles(f"tile {place[0]}/{place[1]} lacks what a tree of {leaves[1]} leaves has in it")
        found.append(_root_over(bytes(hashes)))
    return found


# Neighbouring leaves share all but the lowest of their siblings.
@lru_cache(maxsize=1024)
def _root_over(hashes: bytes) -> bytes:
    return root(split(hashes))
