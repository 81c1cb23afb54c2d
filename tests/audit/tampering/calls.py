"""What can be done to calls."""

import os
import random
import uuid
from datetime import timedelta
from typing import Any

from audit.calls import ledger
from audit.canonical import sha256_hex
from audit.identifiers import uuid7
from audit.models import ToolCall
from tests.audit.tampering.rows import Connection, Row, Target, insert, one, other, update

FIRST_OF_CALL = [
    *("tenant_id", "user_id", "origin", "conversation_id", "message_id", "run_id", "turn", "position", "tool_name"),
    *("tier", "id"),
    *("input", "input_raw", "params_hash", "decision", "approval_id", "time_limit_ms", "created_at", "row_key"),
]
EVERY_COLUMN = [field.column for field in ToolCall._meta.concrete_fields]

CALLS = "SELECT * FROM tool_calls c WHERE {} ORDER BY id"
NEW = CALLS.format(
    "status IN ('success', 'error') AND row_key IS NOT NULL"
    " AND NOT EXISTS (SELECT FROM ledger_entries e WHERE e.call_id = c.id AND e.version < 3)"
)
ERASED = CALLS.format("row_key IS NULL")
OPEN = CALLS.format("status NOT IN ('success', 'error')")
LEFT = [name for name in EVERY_COLUMN if name != "row_key"]


def change_column(connection: Connection, rng: random.Random, number: int) -> Target:
    """One column of a final call; each in turn."""
    return _changed(connection, rng, NEW, [EVERY_COLUMN[number % len(EVERY_COLUMN)]])


def change_columns(connection: Connection, rng: random.Random, number: int) -> Target:
    """Several columns of a final call."""
    return _changed(connection, rng, NEW, rng.sample(EVERY_COLUMN, rng.randrange(2, 6)))


def change_erased(connection: Connection, rng: random.Random, number: int) -> Target:
    """One column of what erasure has left, or has taken."""
    return _changed(connection, rng, ERASED, [LEFT[number % len(LEFT)]])


def change_open(connection: Connection, rng: random.Random, number: int) -> Target:
    """One column that a call has from its beginning."""
    return _changed(connection, rng, OPEN, [FIRST_OF_CALL[number % len(FIRST_OF_CALL)]])


def _changed(connection: Connection, rng: random.Random, calls: str, columns: list[str]) -> Target:
    call = one(connection, rng, calls)
    values = {name: other(rng, name, call[name]) for name in columns}
    update(connection, "tool_calls", {"id": call["id"]}, values)
    return Target(calls={call["id"], values.get("id", call["id"])}, what=", ".join(columns))


def empty_column(connection: Connection, rng: random.Random, number: int) -> Target:
    """A payload column of a final call, without an erasure."""
    columns = ["input", "output", "params_hash", "output_hash", "row_key", "display", "side_effects", "decision"]
    column = columns[number % len(columns)]
    empty: Any = {"display": "", "side_effects": [], "decision": []}.get(column)
    filled = f"{column} IS NOT NULL AND {column}::text NOT IN ('', '[]') AND status = 'success'"
    call = one(connection, rng, NEW.replace("ORDER BY", f"AND {filled} ORDER BY"))
    update(connection, "tool_calls", {"id": call["id"]}, {column: empty})
    return Target(calls={call["id"]}, what=column)


def swap_calls(connection: Connection, rng: random.Random, number: int) -> Target:
    """Columns of two calls are exchanged."""
    groups = [["input", "params_hash"], ["output", "output_hash"], ["row_key"], ["input"], ["user_id", "run_id"],
              ["display", "side_effects"], ["finished_at", "started_at"]]  # fmt: skip
    columns = groups[number % len(groups)]
    query = NEW.replace("ORDER BY", "AND status = 'success' ORDER BY")
    first = one(connection, rng, query)
    while (second := one(connection, rng, query))["id"] == first["id"] or all(
        first[name] == second[name] for name in columns
    ):
        pass
    update(connection, "tool_calls", {"id": first["id"]}, {name: second[name] for name in columns})
    update(connection, "tool_calls", {"id": second["id"]}, {name: first[name] for name in columns})
    return Target(calls={first["id"], second["id"]}, what=", ".join(columns))


def rehash(connection: Connection, rng: random.Random, number: int) -> Target:
    """Another argument or result, with its hash and its entry's commitment made again under the row's own key."""
    sealed = " AND EXISTS (SELECT FROM ledger_entries e WHERE e.call_id = c.id AND leaf_index IS NOT NULL) ORDER BY"
    call = one(connection, rng, NEW.replace("ORDER BY", "AND status = 'success'" + sealed))
    kind, column, hash_name = [("proposed", "input", "params_hash"), ("settled", "output", "output_hash")][number % 2]
    value = {"made": rng.randrange(10**6)}
    call |= {column: value, hash_name: sha256_hex(value)}
    update(connection, "tool_calls", {"id": call["id"]}, {column: value, hash_name: call[hash_name]})
    commit_again(connection, call, kind)
    return Target(calls={call["id"]}, leaves=leaves_of(connection, call["id"]), what=column)


def commit_again(connection: Connection, call: Row, kind: str) -> None:
    """What a client has reported has one entry for both."""
    kind = "reported" if call["origin"] == "native" else kind
    payload = {"proposed": ledger.proposed, "settled": ledger.settled, "reported": ledger.reported}[kind](call)
    commitment = ledger.commitment(call["row_key"], payload)
    update(connection, "ledger_entries", {"call_id": call["id"], "kind": kind}, {"commitment": commitment})


def delete_call(connection: Connection, rng: random.Random, number: int) -> Target:
    """A call goes; with it, or not, what else there is of it."""
    call = one(connection, rng, "SELECT * FROM tool_calls ORDER BY id")
    places = leaves_of(connection, call["id"])
    connection.execute("DELETE FROM tool_calls WHERE id = %s", [call["id"]])
    sealed = bool(places)
    if number % 2 and sealed:
        connection.execute("DELETE FROM ledger_entries WHERE call_id = %s", [call["id"]])
        connection.execute("DELETE FROM approval_decisions WHERE call_id = %s", [call["id"]])
    return Target(calls={call["id"]}, leaves=places)


def add_call(connection: Connection, rng: random.Random, number: int) -> Target:
    """A call that never was: without entries, or with ones dated back."""
    call = one(connection, rng, NEW.replace("ORDER BY", "AND status = 'success' AND approval_id IS NULL ORDER BY"))
    moment = call["created_at"] - timedelta(days=1 + number % 3)
    made = uuid.UUID(int=int(moment.timestamp() * 1000) << 80 | uuid7().int & ((1 << 80) - 1))
    times = ("created_at", "queued_at", "started_at", "finished_at")
    call |= {"id": made, "row_key": os.urandom(32)} | dict.fromkeys(times, moment)
    insert(connection, "tool_calls", call)
    if number % 2:
        for payload in (ledger.proposed(call), ledger.settled(call)):
            entry = {
                "tenant_id": call["tenant_id"], "call_id": made, "kind": payload["kind"], "version": ledger.VERSION,
                "commitment": ledger.commitment(call["row_key"], payload), "created_at": moment,
            }  # fmt: skip
            insert(connection, "ledger_entries", entry)
    return Target(calls={made})


def leaves_of(connection: Connection, call_id: uuid.UUID) -> set[int]:
    found = connection.execute("SELECT leaf_index FROM ledger_entries WHERE call_id = %s", [call_id]).fetchall()
    return {row["leaf_index"] for row in found if row["leaf_index"] is not None}
