"""The log as a tree: compares the entries' leaves with the tiles, and both with every signed head, in one pass."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from audit.checks.findings import Finding
from audit.checks.heads import Head
from audit.log.merkle import HASH_SIZE, Frontier, root
from audit.log.tiles import WIDTH

_NOTHING = bytes(HASH_SIZE)


class Level:
    """One level of the tiles, read in order and compared with the hashes that belong there."""

    def __init__(self, level: int, rows: Iterator[dict[str, Any]]) -> None:
        self.level = level
        self._rows = rows
        self._tile = next(rows, None)
        self._below: list[bytes] = []
        self._long: list[int] = []
        self.size = 0

    def stored(self, position: int) -> bytes | None:
        """What the tile has at a position; None when it has nothing."""
        while self._tile is not None and self._tile["index"] < position // WIDTH:
            self._tile = next(self._rows, None)
        if self._tile is None or self._tile["index"] != position // WIDTH:
            return None
        if position % WIDTH == 0 and len(self._tile["hashes"]) > WIDTH * HASH_SIZE:
            self._long.append(self._tile["index"])
        start = position % WIDTH * HASH_SIZE
        found = bytes(self._tile["hashes"][start : start + HASH_SIZE])
        return found if len(found) == HASH_SIZE else None

    def add(self, node: bytes) -> bytes | None:
        """Count a hash; the root over its tile when that is full now."""
        self._below.append(node)
        self.size += 1
        if len(self._below) < WIDTH:
            return None
        full, self._below = root(self._below), []
        return full

    def rest(self) -> Iterator[Finding]:
        """The hashes beyond those that belong here."""
        yield from (self._beyond(index) for index in self._long)
        if self.size and self.stored(self.size - 1) is not None and self._tile is not None:
            due = (self.size - 1) % WIDTH + 1
            if len(self._tile["hashes"]) != due * HASH_SIZE:
                yield self._beyond(self._tile["index"])
            self._tile = next(self._rows, None)
        while self._tile is not None:
            yield self._beyond(self._tile["index"])
            self._tile = next(self._rows, None)

    def _beyond(self, index: int) -> Finding:
        text = f"tile {self.level}/{index} holds hashes beyond the log's {self.size} at this level"
        return Finding("tile", text, table="ledger_tiles", leaf_index=self.size * WIDTH**self.level)


@dataclass(frozen=True, slots=True)
class _Difference:
    """A leaf that is another in its tile than its entry makes it; until one is found, both trees are one."""

    index: int
    name: str
    seq: int | None
    stored: bool


class Tree:
    """Grows leaf by leaf, and yields what does not fit.

    Where entry and tile differ, the next head shows which of them was changed: the one without which its root fits.
    """

    def __init__(self, levels: Iterable[Level], heads: Iterator[Head]) -> None:
        self._levels = list(levels)
        self._heads = heads
        self._head = next(heads, None)
        self._from_tiles = Frontier()
        # None as long as it is the same tree.
        self._from_entries: Frontier | None = None
        self._differences: list[_Difference] = []
        self._good = 0
        self._broken = False
        self.sealed_at: datetime | None = None

    @property
    def size(self) -> int:
        """The number of leaves so far."""
        return self._from_tiles.size

    @property
    def is_behind(self) -> bool:
        """Whether there is a head over more leaves."""
        return self._head is not None

    def begin(self) -> Iterator[Finding]:
        """The heads of an empty log."""
        yield from self._held_to_heads()

    def grow(self, leaf: bytes | None, name: Callable[[], str], seq: int | None) -> Iterator[Finding]:
        """The next leaf, as its entry makes it; None when there is no entry."""
        index = self.size
        stored = self._levels[0].stored(index)
        if stored is None or stored != leaf:
            self._differences.append(_Difference(index, name(), seq, stored is not None))
            self._from_entries = self._from_entries or Frontier(index, self._from_tiles.nodes)
        logged = stored or leaf or _NOTHING
        self._from_tiles.append(logged)
        if self._from_entries is not None:
            self._from_entries.append(leaf or logged)
        yield from self._climb(logged)
        yield from self._held_to_heads()

    def _climb(self, logged: bytes) -> Iterator[Finding]:
        node = self._levels[0].add(logged)
        for level in self._levels[1:]:
            if node is None:
                return
            position = level.size
            if level.stored(position) != node:
                text = f"tile {level.level}/{position // WIDTH} is wrong at {position % WIDTH}: not the root below it"
                yield Finding("tile", text, table="ledger_tiles", leaf_index=position * WIDTH**level.level)
            node = level.add(node)

    def _held_to_heads(self) -> Iterator[Finding]:
        group = []
        while self._head is not None and self._head.checkpoint.size <= self.size:
            group.append(self._head)
            self._head = next(self._heads, None)
        if group:
            yield from self._held_to(group)

    def _held_to(self, group: list[Head]) -> Iterator[Finding]:
        from_tiles = self._from_tiles.root()
        from_entries = from_tiles if self._from_entries is None else self._from_entries.root()
        roots = {head.checkpoint.root for head in group}
        yield from _unlike(group)
        if from_tiles in roots:
            yield from (_entry_differs(each) for each in self._differences)
            self._from_entries = None
        elif self._from_entries is not None and from_entries in roots:
            yield from (_tile_differs(each) for each in self._differences)
            self._from_tiles, self._from_entries = self._from_entries, None
        else:
            yield from (_differ(each) for each in self._differences)
        fit = roots & {from_tiles, from_entries}
        for head in group:
            if head.checkpoint.root not in fit and not (self._broken and not fit):
                yield self._does_not_fit(head)
        self._broken = not fit
        self._differences = []
        if fit:
            self._good = self.size
        self.sealed_at = max((head.created_at for head in group if head.created_at), default=self.sealed_at)

    def _does_not_fit(self, head: Head) -> Finding:
        where = f"leaves {self._good} to {self.size - 1}"
        text = f"{head} is rightly signed, and not of this log: what was changed is among {where}"
        return Finding("root", text, table="ledger_entries", leaf_index=self._good, leaf_end=self.size)

    def end(self) -> Iterator[Finding]:
        """What is beyond the last leaf, or covered by no head."""
        if self._differences or (self.size > self._good and not self._broken):
            yield from (_differ(each) for each in self._differences)
            text = f"leaves {self._good} to {self.size - 1} are marked as sealed, and no head is over them"
            yield Finding("head", text, table="ledger_checkpoints", leaf_index=self._good, leaf_end=self.size)
        ahead = [self._head, *self._heads] if self._head is not None else []
        for head in ahead[-1:]:
            text = f"{head} is ahead of the log, which ends at {self.size}: later entries are lost, or were taken away"
            yield Finding("ahead", text, table="ledger_entries", leaf_index=self.size, leaf_end=head.checkpoint.size)
        for level in self._levels:
            yield from level.rest()


def _unlike(group: list[Head]) -> Iterator[Finding]:
    """The differences between the database and the checkpoint file about one head."""
    stored = {head.checkpoint.origin: head for head in group if head.source.startswith("in the database")}
    for head in group:
        if "checkpoint file" not in head.source:
            continue
        there = stored.get(head.checkpoint.origin)
        if there is None:
            yield Finding("head", f"{head} is missing in the database", table="ledger_checkpoints")
        elif there.created_at != head.created_at:
            text = f"{there} has another time than {head.source}"
            yield Finding("head", text, table="ledger_checkpoints", columns=("created_at",))


def _entry_differs(each: _Difference) -> Finding:
    how = "is not what was sealed" if each.stored else "has no hash in the tiles"
    table = "ledger_entries" if each.stored else "ledger_tiles"
    return Finding("leaf", f"{each.name} {how}", table=table, leaf_index=each.index, seq=each.seq)


def _tile_differs(each: _Difference) -> Finding:
    text = f"tile 0/{each.index // WIDTH} is wrong at {each.index % WIDTH}: {each.name} is what was sealed"
    return Finding("tile", text, table="ledger_tiles", leaf_index=each.index, seq=each.seq)


def _differ(each: _Difference) -> Finding:
    text = f"{each.name} and tile 0/{each.index // WIDTH} differ, and no head tells which was sealed"
    return Finding("leaf", text, table="ledger_entries", leaf_index=each.index, seq=each.seq)
