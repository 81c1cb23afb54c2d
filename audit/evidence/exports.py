"""A tenant's part of the log as JSON lines, each with its proof, which docs/verify.py checks without this server.

    {"toolgate_export": 1, "tenant_id", "tenant", "since", "until", "first", "end", "checkpoint", "keys": [...]}
    {"leaf", "proof", "statement", "key", and what the statement has hashes of: "input", "output", …}     an entry each
    {"entries", "calls"}

The entries are the tenant's numbers first … end - 1 without a gap, so what is between cannot have been left out. Of an
erased or dropped call statement and key are null.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from audit.calls.ledger import moment
from audit.checks import statements
from audit.checks.entrycheck import Facts
from audit.checks.snapshots import Row, Snapshot, batches
from audit.evidence.proofs import TILES, Place, Prover
from audit.evidence.receipts import leaf_text

FORM = 1
# Each entry can have arguments and outputs of up to 1 MiB.
BATCH = 100
_HEAD = "SELECT * FROM ledger_checkpoints ORDER BY id DESC LIMIT 1"
_KEYS = "SELECT vkey, origin, endorsement FROM ledger_keys ORDER BY id"
_RANGE = """
    SELECT coalesce(min(tenant_index), 0) AS first, coalesce(max(tenant_index) + 1, 0) AS end,
        count(*) FILTER (WHERE kind IN ('proposed', 'reported')) AS calls
    FROM ledger_entries
    WHERE tenant_id = %s AND leaf_index IS NOT NULL AND created_at >= coalesce(%s, '-infinity'::timestamptz)
        AND created_at < coalesce(%s, 'infinity'::timestamptz)"""
_ENTRIES = """
    SELECT * FROM ledger_entries WHERE tenant_id = %s AND leaf_index IS NOT NULL
        AND tenant_index >= %s AND tenant_index < %s ORDER BY tenant_index"""
_CALLS = "SELECT * FROM tool_calls WHERE id = ANY(%s::uuid[])"
# Which columns the hashes in a statement are of.
_PAYLOADS = {
    "proposed": {"input": "params_hash", "input_raw": "input_raw_hash"},
    "settled": {"approved_input": "approved_params_hash", "output": "output_hash"},
    "reported": {"input": "params_hash", "output": "output_hash"},
}


class NothingSealed(Exception):
    """There is no signed head yet that an export could be proven against."""


@dataclass(frozen=True, slots=True)
class Export:
    """What a tenant's export contains: entries first … end - 1 of the tenant, against one head."""

    tenant: Row
    since: datetime | None
    until: datetime | None
    first: int
    end: int
    calls: int
    head: Row

    @classmethod
    def of(cls, snapshot: Snapshot, tenant: Row, since: datetime | None, until: datetime | None) -> "Export":
        """The entries between two times; raises NothingSealed. `tenant` has an id and a slug."""
        heads = snapshot.all(_HEAD)
        if not heads:
            raise NothingSealed
        [found] = snapshot.all(_RANGE, tenant["id"], since, until)
        return cls(tenant, since, until, found["first"], found["end"], found["calls"], heads[0])

    def lines(self, snapshot: Snapshot) -> Iterator[bytes]:
        """The export, a line at a time, from the snapshot that it was made of."""
        yield _line(self._header(snapshot))
        prover = Prover(self.head["size"], lambda places: _stored(snapshot, places))
        rows = snapshot.rows(_ENTRIES, [self.tenant["id"], self.first, self.end], size=BATCH)
        entries = calls = 0
        for batch in batches(rows, BATCH):
            facts = Facts.of(snapshot, batch, _CALLS)
            for entry, proof in zip(batch, prover.proofs(each["leaf_index"] for each in batch), strict=True):
                yield _line(_entry(entry, facts, proof))
                entries += 1
                calls += entry["kind"] in statements.FIRST
        yield _line({"entries": entries, "calls": calls})

    def _header(self, snapshot: Snapshot) -> Row:
        return {
            "toolgate_export": FORM,
            "tenant_id": str(self.tenant["id"]),
            "tenant": self.tenant["slug"],
            "since": self.since and moment(self.since),
            "until": self.until and moment(self.until),
            "first": self.first,
            "end": self.end,
            "checkpoint": self.head["note"],
            "keys": snapshot.all(_KEYS),
        }


def _stored(snapshot: Snapshot, places: Iterable[Place]) -> Mapping[Place, bytes]:
    wanted = sorted(places)
    found = snapshot.all(TILES, [level for level, _ in wanted], [index for _, index in wanted])
    return {(row["level"], row["index"]): bytes(row["hashes"]) for row in found}


def _entry(entry: Row, facts: Facts, proof: list[bytes]) -> Row:
    call = facts.calls.get(entry["call_id"])
    statement = _statement(entry, call, facts.about(entry))
    shown: dict[str, Any] = {}
    if call is not None and statement is not None:
        payloads = _PAYLOADS.get(entry["kind"], {})
        shown = {name: call[name] for name, field in payloads.items() if statement.payload.get(field) is not None}
    return {
        "leaf": leaf_text(entry),
        "proof": [each.hex() for each in proof],
        "statement": statement and statement.text,
        "key": statement and statement.key.hex(),
        **shown,
    }


def _statement(entry: Row, call: Row | None, records: list[Row]) -> statements.Statement | None:
    """The statement according to the rows, also where that is not what was committed to: the verifier finds it."""
    made = None
    for record in [*records] or [{}]:
        try:
            made = statements.made_again(entry, call, record) or made
        except ValueError:
            continue
        if made is not None and made.fits(bytes(entry["commitment"])):
            return made
    return made


def _line(values: Row) -> bytes:
    return orjson.dumps(values, default=lambda value: None) + b"\n"
