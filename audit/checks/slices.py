"""What can be verified of a slice of the log, or of the calls, by itself: by whichever process has a connection.

An entry is compared with its rows, and its leaf is hashed; a call is compared with its entries. What depends on what
came before, the tree and the places of entries, is `verification`'s.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from audit.checks import callcheck
from audit.checks.entrycheck import Counts, Entries, Facts, leaf_of
from audit.checks.findings import Finding
from audit.checks.snapshots import BATCH, Row, Snapshot, batches

# From one place or id on, before another one.
Range = tuple[Any, Any]

# A call's output may have 1 MiB.
CALLS = 100
# How many calls make a slice.
CALLS_OF_SLICE = 1000
_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_NIL = "00000000-0000-0000-0000-000000000000"
_ENTRIES = "SELECT * FROM ledger_entries WHERE leaf_index >= %s AND leaf_index < %s ORDER BY leaf_index"
# What `verification` needs to know of an entry.
_KNOWN = (*("leaf_index", "seq", "kind", "tenant_id", "tenant_index", "call_id", "record_id", "created_at"),)
# Without what is not looked at; of the gates' answers, only what erasure should have removed is.
_CALLS = """
    SELECT id, tenant_id, origin, status, row_key, lease_until, created_at, finished_at, input_raw, error_message,
        error_field, display, side_effects <> '[]' AS side_effects, output_bytes, execution_time_ms, params_hash,
        output_hash, approved_params_hash, input, output, approved_input,
        CASE WHEN row_key IS NULL THEN decision END AS decision,
        CASE WHEN row_key IS NULL THEN resumed_decision END AS resumed_decision,
        input IS NOT NULL AS input_there, output IS NOT NULL AS output_there,
        approved_input IS NOT NULL AS approved_input_there
    FROM tool_calls WHERE id >= %s AND (%s::uuid IS NULL OR id < %s) ORDER BY id"""
_ENTRIES_OF_CALLS = """
    SELECT call_id, seq, kind, leaf_index, created_at FROM ledger_entries
    WHERE tenant_id = ANY(%s::uuid[]) AND call_id = ANY(%s::uuid[])"""
_EDGES = f"""
    SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id) AS number FROM tool_calls) AS call
    WHERE number %% {CALLS_OF_SLICE} = 0 ORDER BY number"""


@dataclass(slots=True)
class CheckedEntries:
    """Sealed entries in the order of the log: what is known of each, its leaf's hash, and what is wrong with it."""

    entries: list[tuple[Row, bytes | None, list[Finding]]]
    counts: Counts


@dataclass(slots=True)
class CheckedCalls:
    """How many calls were looked at, and what is wrong with them, in the order of their ids."""

    calls: int
    found: list[Finding]


def of_entries(leaves: int) -> Iterator[Range]:
    """The places of the log as ranges, with those before its first one and beyond its last one, of `leaves`."""
    edges = [_LOWEST, *range(BATCH, leaves, BATCH), leaves, _HIGHEST]
    return pairwise(edges)


def of_calls(snapshot: Snapshot | None) -> Iterator[Range]:
    """The ids as ranges of so many calls each; without a snapshot, one range."""
    low: str | None = _NIL
    for edge in snapshot.rows(_EDGES) if snapshot is not None else ():
        yield low, edge["id"]
        low = edge["id"]
    yield low, None


class Slices:
    """Checks slices over one connection, which must see every tenant; a part at a time, in constant memory."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._entries = Entries(snapshot)

    def checked(self, kind: str, given: Range) -> Iterator[CheckedEntries | CheckedCalls]:
        """The parts of a slice of the "entries" or of the "calls", in order."""
        return self._of_entries(*given) if kind == "entries" else self._of_calls(*given)

    def _of_entries(self, low: int, high: int) -> Iterator[CheckedEntries]:
        for batch in batches(self._snapshot.rows(_ENTRIES, [low, high])):
            facts = Facts.of(self._snapshot, batch)
            checked = [
                ({name: entry[name] for name in _KNOWN}, leaf_of(entry), list(self._entries.check(entry, facts)))
                for entry in batch
            ]
            counts, self._entries.counts = self._entries.counts, Counts()
            yield CheckedEntries(checked, counts)

    def _of_calls(self, low: str, high: str | None) -> Iterator[CheckedCalls]:
        for batch in batches(self._snapshot.rows(_CALLS, [low, high, high], size=CALLS), CALLS):
            entries = defaultdict(list)
            tenants, ids = list({call["tenant_id"] for call in batch}), [call["id"] for call in batch]
            for entry in self._snapshot.all(_ENTRIES_OF_CALLS, tenants, ids):
                entries[entry["call_id"]].append(entry)
            found = [finding for call in batch for finding in callcheck.of_call(call, entries[call["id"]])]
            yield CheckedCalls(len(batch), found)
