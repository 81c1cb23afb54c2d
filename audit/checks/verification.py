"""Verifies the whole log: entries against the tree, the tree against the signed heads, rows against entries.

It reads one snapshot over a connection that sees every tenant (the operator's login), in constant memory, and yields
what is wrong as it finds it:

    entries   in the order of the log: leaf, place, time, statement
    calls     their entries, hashes and states
    records   decisions, erasures, readings and changes, each with its entry
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from audit.calls import decisions
from audit.checks import callcheck, slices, statements
from audit.checks.entrycheck import Entries, Facts, of_entry, of_record
from audit.checks.findings import Finding, Summary
from audit.checks.heads import Heads, Keys
from audit.checks.processes import Processes
from audit.checks.slices import Slices
from audit.checks.snapshots import Row, Snapshot, batches
from audit.checks.treecheck import Level, Tree

# Enough for 2^40 entries.
LEVELS = 5
WAITING = timedelta(minutes=5)

_TILES = "SELECT index, hashes FROM ledger_tiles WHERE level = %s ORDER BY index"
_LOGGED = "SELECT coalesce(sum(octet_length(hashes)), 0)::bigint / 32 AS leaves FROM ledger_tiles WHERE level = 0"
# Before version 3 an entry named its call alone; its commitment shows which decision it is of.
_UNENTERED_DECISIONS = """
    SELECT d.id, d.tenant_id, d.call_id, own.entered, own.due
    FROM (SELECT *, count(*) OVER (PARTITION BY tenant_id, call_id) AS among FROM ({everything}) made) d, LATERAL (
        SELECT CASE WHEN bool_or(e.record_id IS NULL) THEN count(*)
                ELSE count(*) FILTER (WHERE e.record_id = d.id) END AS entered,
            CASE WHEN bool_or(e.record_id IS NULL) THEN d.among ELSE 1 END AS due
        FROM ledger_entries e
        WHERE e.tenant_id = d.tenant_id AND e.call_id = d.call_id AND e.kind = 'decided') own
    WHERE own.entered <> own.due"""
_UNENTERED_ANSWERS = """
    SELECT q.id, q.tenant_id, q.call_id, count(e.seq) AS entered, 1 AS due
    FROM ({everything}) q LEFT JOIN ledger_entries e
        ON e.tenant_id = q.tenant_id AND e.call_id = q.call_id AND e.record_id = q.id AND e.kind = 'answered'
    GROUP BY q.id, q.tenant_id, q.call_id HAVING count(e.seq) <> 1"""
_UNENTERED = {
    "erasures": """
        SELECT r.id, r.tenant_id, count(e.seq) AS entered, CASE r.scope WHEN 'month' THEN 1 ELSE r.calls END AS due
        FROM erasures r LEFT JOIN ledger_entries e ON e.record_id = r.id AND e.kind IN ('erased', 'dropped')
        GROUP BY r.id HAVING count(e.seq) <> CASE r.scope WHEN 'month' THEN 1 ELSE r.calls END""",
    "history_reads": """
        SELECT r.id, r.tenant_id, count(e.seq) AS entered, 1 AS due
        FROM history_reads r LEFT JOIN ledger_entries e ON e.record_id = r.id AND e.kind = 'read'
        GROUP BY r.id HAVING count(e.seq) <> 1""",
    "setting_changes": """
        SELECT r.id, r.tenant_id, count(e.seq) AS entered, 1 AS due
        FROM setting_changes r LEFT JOIN ledger_entries e ON e.record_id = r.id AND e.kind = 'changed'
        GROUP BY r.id HAVING count(e.seq) <> 1""",
}


@dataclass
class Verification:
    """What to verify, with what; `found()` does it, and fills in the summary.

    `trusted` are vkeys; `lines` are the checkpoint file's, read before the snapshot was begun; `notes` are signed heads
    that somebody has stored, by name. Entries and calls are checked a slice at a time, here or by `processes`, and
    what is found is yielded in the order of the slices: order and words are the same whoever checks them.
    """

    snapshot: Snapshot
    trusted: Sequence[str] = ()
    lines: Iterable[str] = ()
    notes: Sequence[tuple[str, str]] = ()
    progress: Callable[[str, int], object] = lambda what, count: None
    processes: Processes | None = None
    summary: Summary = field(default_factory=Summary)

    def found(self) -> Iterator[Finding]:
        """Everything that is wrong."""
        for finding in self._parts(self.snapshot.with_plain_ids()):
            self.summary.count(finding)
            yield finding

    def _parts(self, snapshot: Snapshot) -> Iterator[Finding]:
        keys = Keys(snapshot.rows("SELECT * FROM ledger_keys ORDER BY id"), self.trusted)
        yield from keys.findings
        self.summary.origins, self.summary.trusted = keys.origins, bool(self.trusted)
        heads = Heads(keys)
        stored = snapshot.rows("SELECT * FROM ledger_checkpoints ORDER BY size, id")
        levels = [Level(level, snapshot.rows(_TILES, [level], size=16)) for level in range(LEVELS)]
        tree = Tree(levels, heads.merged(stored, self.lines, self.notes))
        entries = Entries(snapshot)
        if self.processes is not None:
            self.processes.begin(snapshot)
        yield from tree.begin()
        yield from self._sealed(snapshot, tree, entries)
        yield from tree.end()
        yield from heads.findings
        self.summary.log_size, self.summary.checkpoints = tree.size, heads.read
        yield from self._unsealed(snapshot, entries, tree.sealed_at)
        yield from entries.months()
        self.summary.old_versions, self.summary.erased = entries.counts.old_versions, entries.counts.erased
        self.summary.dropped = entries.counts.missing.total()
        yield from self._calls(snapshot)
        yield from self._records(snapshot)

    def _sealed(self, snapshot: Snapshot, tree: Tree, entries: Entries) -> Iterator[Finding]:
        [logged] = snapshot.all(_LOGGED)
        places: dict[Hashable, int] = defaultdict(int)
        for part in self._checked(snapshot, "entries", slices.of_entries(logged["leaves"])):
            entries.counts.add(part.counts)
            for entry, leaf, found in part.entries:
                yield from found
                index = entry["leaf_index"]
                if index < tree.size or (index > tree.size and index >= logged["leaves"]):
                    yield of_entry(entry, "place", "is where the log has another entry, or none", "leaf_index")
                    continue
                yield from _missing(tree, index)
                sealed_at = tree.sealed_at
                yield from tree.grow(leaf, partial(statements.subject, entry), entry["seq"])
                if sealed_at is not None and not _after(entry["created_at"], sealed_at):
                    yield of_entry(entry, "time", "is dated long before the head that it came after", "created_at")
                yield from _in_its_tenant(entry, places)
            self.summary.sealed += len(part.entries)
            self.progress("sealed entries", self.summary.sealed)
        # Only a head shows that there were more entries; without one, the tiles have too many.
        if tree.is_behind:
            yield from _missing(tree, logged["leaves"])

    def _unsealed(self, snapshot: Snapshot, entries: Entries, sealed_at: datetime | None) -> Iterator[Finding]:
        now = datetime.now(UTC)
        for batch in batches(snapshot.rows("SELECT * FROM ledger_entries WHERE leaf_index IS NULL ORDER BY seq")):
            facts = Facts.of(snapshot, batch)
            for entry in batch:
                created = entry["created_at"]
                if sealed_at is not None and not _after(created, sealed_at):
                    yield of_entry(entry, "time", "is dated long before the last head, and not in it", "created_at")
                elif not isinstance(created, datetime) or now - created > WAITING:
                    yield of_entry(entry, "unsealed", "waits to be sealed", severity="warning")
                yield from entries.check(entry, facts)
            self.summary.unsealed += len(batch)
        self.summary.entries = self.summary.sealed + self.summary.unsealed

    def _calls(self, snapshot: Snapshot) -> Iterator[Finding]:
        ranges = slices.of_calls(snapshot if self.processes is not None else None)
        for part in self._checked(snapshot, "calls", ranges):
            yield from part.found
            self.summary.calls += part.calls
            self.progress("calls", self.summary.calls)

    def _checked(self, snapshot: Snapshot, kind: str, ranges: Iterable[slices.Range]) -> Iterator[Any]:
        """The parts of all slices, in order."""
        if self.processes is not None:
            yield from self.processes.checked(kind, ranges)
            return
        here = Slices(snapshot)
        for each in ranges:
            yield from here.checked(kind, each)

    def _records(self, snapshot: Snapshot) -> Iterator[Finding]:
        """Decisions, answers, erasures, readings and changes that no entry is about, or too many."""
        known, answered = decisions.queries(), decisions.answers()
        unentered = {
            known.table: _UNENTERED_DECISIONS.format(everything=known.everything),
            answered.table: _UNENTERED_ANSWERS.format(everything=answered.everything),
            **_UNENTERED,
        }
        for table, query in unentered.items():
            for row in snapshot.rows(query):
                yield of_record(table, row, f"has {row['entered']} entries, not {row['due']}")


def _missing(tree: Tree, end: int) -> Iterator[Finding]:
    """Go on to leaf `end` without entries."""
    first = tree.size
    if first < end:
        where = (
            f"the entry of leaf {first} is" if end == first + 1 else f"the entries of leaves {first} to {end - 1} are"
        )
        yield Finding("gap", f"{where} missing", table="ledger_entries", leaf_index=first, leaf_end=end)
    for index in range(first, end):
        yield from tree.grow(None, partial("leaf {}".format, index), None)


def _in_its_tenant(entry: Row, places: dict[Hashable, int]) -> Iterator[Finding]:
    due, stated = places[entry["tenant_id"]], entry["tenant_index"]
    if stated != due:
        yield of_entry(entry, "gap", f"is number {stated} of its tenant, not {due}", "tenant_index")
    places[entry["tenant_id"]] = (due if stated is None else max(stated, due)) + 1


def _after(moment: Any, head: datetime) -> bool:
    return isinstance(moment, datetime) and moment > head - callcheck.SLACK
