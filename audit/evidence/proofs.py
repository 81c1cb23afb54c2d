"""Proofs that leaves are in the log, from as few tiles as possible."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.db import connections, router

from audit.log import tiles
from audit.models import Checkpoint, LedgerKey, LedgerTile

Place = tiles.Place
# What two levels of siblings and the edges of a large log need, several times over.
MOST_TILES = 256
TILES = """
    SELECT tile.level, tile.index, tile.hashes FROM unnest(%s::smallint[], %s::bigint[]) AS wanted (level, index)
    JOIN ledger_tiles AS tile USING (level, index)"""


def head() -> Checkpoint | None:
    """The newest signed head; None when nothing was sealed yet."""
    return Checkpoint.objects.order_by("-id").first()


def stored(places: Iterable[Place]) -> Mapping[Place, bytes]:
    """These tiles as the database has them: one query on the current login."""
    wanted = sorted(places)
    with connections[router.db_for_read(LedgerTile)].cursor() as cursor:
        cursor.execute(TILES, [[level for level, _ in wanted], [index for _, index in wanted]])
        return {(level, index): bytes(hashes) for level, index, hashes in cursor.fetchall()}


class Prover:
    """Proves that leaves are in the log of a size; caches recently read tiles, and hashes that neighbours share."""

    def __init__(self, size: int, read: Callable[[Iterable[Place]], Mapping[Place, bytes]] = stored) -> None:
        self.size = size
        self._read = read
        self._tiles: OrderedDict[Place, bytes] = OrderedDict()
        self._hashes: dict[tiles.Range, bytes] = {}

    def proofs(self, indices: Iterable[int]) -> list[list[bytes]]:
        """The proof of each leaf; one read for all of them. Raises `tiles.BadTiles` when the log lacks a tile."""
        ways = [tiles.siblings(index, self.size) for index in indices]
        passed = set().union(*ways)
        new = passed - self._hashes.keys()
        needed = tiles.needed(new)
        missing = needed - self._tiles.keys()
        if missing:
            self._tiles |= self._read(missing)
        for place in needed & self._tiles.keys():
            self._tiles.move_to_end(place)
        # What was passed on the way of these leaves is what their neighbours pass.
        self._hashes = {each: self._hashes[each] for each in passed - new}
        self._hashes |= {each: tiles.hash_of(each, self._tiles) for each in new}
        while len(self._tiles) > MOST_TILES:
            self._tiles.popitem(last=False)
        return [[self._hashes[each] for each in way] for way in ways]


def keys() -> list[Any]:
    """The log's public keys, oldest first, each endorsed by the one before it."""
    return list(LedgerKey.objects.order_by("id").values("vkey", "origin", "endorsement"))


def as_json(checkpoint: Checkpoint, proven: Iterable[tuple[int, str, list[bytes]]]) -> dict[str, Any]:
    """A receipt's `inclusion_proof`, of leaves by index and text with their proofs."""
    return {
        "checkpoint": checkpoint.note,
        "origin": checkpoint.origin,
        "tree_size": checkpoint.size,
        "root": bytes(checkpoint.root).hex(),
        "keys": keys(),
        "proofs": [
            {"leaf_index": index, "leaf": leaf, "hashes": [each.hex() for each in hashes]}
            for index, leaf, hashes in proven
        ],
    }
