"""Changing rows as the owner of the database can, and what a finding must name to have found such a change."""

import random
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from audit.checks.findings import Finding

Row = dict[str, Any]
Connection = psycopg.Connection[Row]

JSON = {
    "input",
    "output",
    "decision",
    "side_effects",
    "approved_input",
    "resumed_decision",
    "edit",
    "filters",
    "changes",
}


@dataclass
class Target:
    """What was changed: a finding that has one of these has named it."""

    calls: set[uuid.UUID] = field(default_factory=set)
    records: set[uuid.UUID] = field(default_factory=set)
    seqs: set[int] = field(default_factory=set)
    leaves: set[int] = field(default_factory=set)
    tables: set[str] = field(default_factory=set)
    what: str = ""

    def named_by(self, finding: Finding) -> bool:
        """Whether the finding is about it."""
        first = finding.leaf_index
        end = finding.leaf_end or (-1 if first is None else first + 1)
        return (
            finding.call_id in self.calls
            or finding.record_id in self.records
            or finding.seq in self.seqs
            or finding.table in self.tables
            or (first is not None and any(first <= leaf < end for leaf in self.leaves))
        )


def one(connection: Connection, rng: random.Random, query: str, *values: Any) -> Row:
    """A row of those that a query finds, the same for the same seed."""
    found = connection.execute(query.encode(), values).fetchall()
    return found[rng.randrange(len(found))]


def other(rng: random.Random, column: str, value: Any) -> Any:
    """Another value for a column."""
    if column == "origin":
        # No other than these are taken.
        return rng.choice([origin for origin in ("api", "mcp", "schedule", "native") if origin != value])
    if isinstance(value, uuid.UUID):
        return uuid.UUID(int=value.int ^ 1 << rng.randrange(60))
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + rng.choice([-1, 1, 7])
    if isinstance(value, datetime):
        return value + timedelta(microseconds=rng.choice([-1, 1, 10**6, -(10**12)]))
    if isinstance(value, bytes):
        place = rng.randrange(len(value))
        return value[:place] + bytes([value[place] ^ 1 << rng.randrange(8)]) + value[place + 1 :]
    if column in JSON:
        return Jsonb(rng.choice([{"other": rng.randrange(10**6)}, [], ["x"], value and [value]] if value else [[1]]))
    if isinstance(value, str):
        return value + rng.choice(["x", " ", "\u200b"])
    if column == "lease_until" or column.endswith("_at"):
        return datetime.fromisoformat("2026-11-21T10:00:00+00:00")
    if column.endswith("_id") or column in ("low", "high", "waits_on_run"):
        return uuid.uuid4()
    numbers = ("output_bytes", "execution_time_ms", "calls", "turn", "position")
    return rng.randrange(1, 99) if column in numbers else "made up"


def update(connection: Connection, table: str, key: dict[str, Any], values: dict[str, Any]) -> None:
    """Set columns of one row."""
    adapted = {name: _adapted(name, value) for name, value in values.items()}
    sets = ", ".join(f"{name} = %({name})s" for name in adapted)
    where = " AND ".join(f"{name} = %(key_{name})s" for name in key)
    keys = {f"key_{name}": value for name, value in key.items()}
    done = connection.execute(f"UPDATE {table} SET {sets} WHERE {where}".encode(), adapted | keys)
    assert done.rowcount == 1, (table, key)


def insert(connection: Connection, table: str, row: Row) -> None:
    """Insert a row as it is."""
    adapted = {name: _adapted(name, value) for name, value in row.items()}
    places = ", ".join(f"%({name})s" for name in row)
    connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})".encode(), adapted)


def _adapted(name: str, value: Any) -> Any:
    return Jsonb(value) if name in JSON and value is not None and not isinstance(value, Jsonb) else value
