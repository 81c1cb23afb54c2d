"""What somebody with the owner's login, and every trigger off, can do to the audit: each says what it was done to."""

import os
import random
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from audit.calls import ledger
from audit.canonical import sha256_hex
from audit.checks.findings import Finding
from audit.identifiers import uuid7
from audit.log import leaves, merkle, tiles
from audit.log.notes import Checkpoint, Signer, sign
from audit.models import ToolCall

Row = dict[str, Any]
Connection = psycopg.Connection[Row]

FIRST_OF_CALL = [
    *("tenant_id", "user_id", "origin", "conversation_id", "message_id", "run_id", "turn", "position", "tool_name"),
    *("tier", "id"),
    *("input", "input_raw", "params_hash", "decision", "approval_id", "time_limit_ms", "created_at", "row_key"),
]
EVERY_COLUMN = [field.column for field in ToolCall._meta.concrete_fields]
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


# --- calls -----------------------------------------------------------------------------------------------------------
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
    _commit_again(connection, call, kind)
    return Target(calls={call["id"]}, leaves=_leaves_of(connection, call["id"]), what=column)


def _commit_again(connection: Connection, call: Row, kind: str) -> None:
    """What a client has reported has one entry for both."""
    kind = "reported" if call["origin"] == "native" else kind
    payload = {"proposed": ledger.proposed, "settled": ledger.settled, "reported": ledger.reported}[kind](call)
    commitment = ledger.commitment(call["row_key"], payload)
    update(connection, "ledger_entries", {"call_id": call["id"], "kind": kind}, {"commitment": commitment})


def delete_call(connection: Connection, rng: random.Random, number: int) -> Target:
    """A call goes; with it, or not, what else there is of it."""
    call = one(connection, rng, "SELECT * FROM tool_calls ORDER BY id")
    places = _leaves_of(connection, call["id"])
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


def _leaves_of(connection: Connection, call_id: uuid.UUID) -> set[int]:
    found = connection.execute("SELECT leaf_index FROM ledger_entries WHERE call_id = %s", [call_id]).fetchall()
    return {row["leaf_index"] for row in found if row["leaf_index"] is not None}


# --- decisions, erasures, readings, changes ---------------------------------------------------------------------------
RECORDS = {
    "approval_decisions": "id tenant_id request_id call_id user_id verdict reason via params_hash edit created_at",
    "erasures": "id tenant_id scope subject_id actor_id reason calls row_key created_at",
    "history_reads": "id tenant_id reader_id user_id call_id action via filters calls row_key created_at",
    "setting_changes": "id tenant_id actor_id via target target_id name action changes row_key created_at",
}
PLACES = [(table, column) for table, columns in RECORDS.items() for column in columns.split()]


def change_record(connection: Connection, rng: random.Random, number: int) -> Target:
    """One column of a decision, an erasure, a reading or a change; each in turn."""
    table, column = PLACES[number % len(PLACES)]
    row = one(connection, rng, f"SELECT * FROM {table} ORDER BY id")
    value = other(rng, column, row[column])
    update(connection, table, {"id": row["id"]}, {column: value})
    target = _of_record(table, row, f"{table}.{column}")
    target.records |= {value} if column == "id" else set()
    return target


def delete_record(connection: Connection, rng: random.Random, number: int) -> Target:
    """A decision, an erasure, a reading or a change goes."""
    table = list(RECORDS)[number % len(RECORDS)]
    row = one(connection, rng, f"SELECT * FROM {table} ORDER BY id")
    connection.execute(f"DELETE FROM {table} WHERE id = %s".encode(), [row["id"]])
    return _of_record(table, row, table)


def add_record(connection: Connection, rng: random.Random, number: int) -> Target:
    """One that never was."""
    table = list(RECORDS)[number % len(RECORDS)]
    row = one(connection, rng, f"SELECT * FROM {table} ORDER BY id") | {"id": uuid7()}
    if table == "approval_decisions":
        row |= {"user_id": uuid.uuid4()}
    insert(connection, table, row)
    return Target(records={row["id"]}, what=table)


def _of_record(table: str, row: Row, what: str = "") -> Target:
    calls = {row["call_id"]} if table == "approval_decisions" else set()
    return Target(records={row["id"]}, calls=calls, what=what)


# --- entries ---------------------------------------------------------------------------------------------------------
SEALED = "SELECT * FROM ledger_entries WHERE leaf_index IS NOT NULL ORDER BY seq"
OF_ENTRY = [
    *("seq", "tenant_id", "call_id", "record_id", "kind", "version", "commitment", "created_at"),
    *("leaf_index", "tenant_index"),
]
KINDS = ["proposed", "decided", "settled", "erased", "dropped", "read", "changed"]


def change_entry(connection: Connection, rng: random.Random, number: int) -> Target:
    """One column of a sealed entry; each in turn."""
    column = OF_ENTRY[number % len(OF_ENTRY)]
    entry = one(connection, rng, SEALED)
    value = other(rng, column, entry[column])
    if column == "kind":
        value = rng.choice([kind for kind in KINDS if kind != entry["kind"]])
    if column == "version":
        value = rng.choice([version for version in (0, 1, 2, 3, 4, 5, 6, 7, 8) if version != entry["version"]])
    if column == "seq":
        value = 10**9 + number
    if column in ("leaf_index", "tenant_index"):
        value = rng.choice([None, 10**15, -5]) if number % 2 else 10**6
    values = {column: value} if value is not None else {"leaf_index": None, "tenant_index": None}
    update(connection, "ledger_entries", {"seq": entry["seq"]}, values)
    return _of_entry(entry, column)


def delete_entries(connection: Connection, rng: random.Random, number: int) -> Target:
    """An entry goes, with or without closing the gap in its tenant."""
    entry = one(connection, rng, SEALED)
    connection.execute("DELETE FROM ledger_entries WHERE seq = %s", [entry["seq"]])
    if number % 2:
        # In one statement no index may be taken twice, not even for a moment.
        connection.execute("DROP INDEX ledger_entries_of_tenant")
        close = "UPDATE ledger_entries SET tenant_index = tenant_index - 1 WHERE tenant_id = %s AND tenant_index > %s"
        connection.execute(close, [entry["tenant_id"], entry["tenant_index"]])
    return _of_entry(entry)


def add_entry(connection: Connection, rng: random.Random, number: int) -> Target:
    """An entry twice: unsealed, at the end of the log, or at the same place."""
    entry = one(connection, rng, SEALED) | {"seq": 10**9 + number}
    ends = connection.execute("SELECT max(leaf_index) + 1 AS leaf, max(tenant_index) + 1 AS own FROM ledger_entries")
    end = ends.fetchone()
    assert end is not None
    if number % 3 == 0:
        entry |= {"leaf_index": None, "tenant_index": None}
    elif number % 3 == 1:
        entry |= {"leaf_index": end["leaf"], "tenant_index": end["own"]}
    else:
        connection.execute("DROP INDEX ledger_entries_leaf")
        connection.execute("DROP INDEX ledger_entries_of_tenant")
    insert(connection, "ledger_entries", entry)
    target = _of_entry(entry, ["unsealed", "at the end", "at the same place"][number % 3])
    gone = "SELECT count(*) AS gone FROM tool_calls WHERE id = %s"
    if entry["call_id"] and not one(connection, rng, gone, entry["call_id"])["gone"]:
        # Of a call that went with its month: the month has one call too many.
        target.tables.add("erasures")
    return target


def swap_entries(connection: Connection, rng: random.Random, number: int) -> Target:
    """Two entries change places."""
    connection.execute("DROP INDEX ledger_entries_leaf")
    connection.execute("DROP INDEX ledger_entries_of_tenant")
    first = one(connection, rng, SEALED)
    while (second := one(connection, rng, SEALED))["seq"] == first["seq"]:
        pass
    names = ["leaf_index"] if number % 2 else ["leaf_index", "tenant_index", "created_at"]
    update(connection, "ledger_entries", {"seq": first["seq"]}, {name: second[name] for name in names})
    update(connection, "ledger_entries", {"seq": second["seq"]}, {name: first[name] for name in names})
    return Target(seqs={first["seq"], second["seq"]}, leaves={first["leaf_index"], second["leaf_index"]})


def _of_entry(entry: Row, what: str = "") -> Target:
    calls = {entry["call_id"]} - {None}
    records = {entry["record_id"]} - {None}
    places = {entry["leaf_index"]} - {None}
    return Target(calls=calls, records=records, seqs={entry["seq"]}, leaves=places, what=what)


# --- the log ---------------------------------------------------------------------------------------------------------
def truncate_log(connection: Connection, rng: random.Random, number: int) -> Target:
    """The tail goes: entries, then also heads, then also tiles, then also the calls and all that is about them."""
    [size] = connection.execute("SELECT count(*) AS n FROM ledger_entries WHERE leaf_index IS NOT NULL").fetchall()
    keep = rng.randrange(size["n"] - 1)
    gone = connection.execute("SELECT DISTINCT call_id FROM ledger_entries WHERE leaf_index >= %s", [keep]).fetchall()
    if number % 4 == 3:
        calls = [row["call_id"] for row in gone]
        for table in ("approval_decisions", "ledger_entries"):
            connection.execute(f"DELETE FROM {table} WHERE call_id = ANY(%s)".encode(), [calls])
        connection.execute("DELETE FROM tool_calls WHERE id = ANY(%s)", [calls])
    connection.execute("DELETE FROM ledger_entries WHERE leaf_index >= %s OR leaf_index IS NULL", [keep])
    if number % 4 >= 1:
        connection.execute("DELETE FROM ledger_checkpoints WHERE size > %s", [keep])
    if number % 4 >= 2:
        remake_tiles(connection)
    return Target(leaves={size["n"] - 1}, what=["entries", "and heads", "and tiles", "and calls"][number % 4])


def remake_tiles(connection: Connection) -> tuple[int, bytes]:
    """The tiles as the entries that there are make them; the size and the root."""
    connection.execute("DELETE FROM ledger_tiles")
    query = "SELECT * FROM ledger_entries WHERE leaf_index IS NOT NULL ORDER BY leaf_index"
    hashes = [leaves.leaf_hash(row) for row in connection.execute(query)]
    for (level, index), tile in tiles.grown(0, hashes, {}).items():
        insert(connection, "ledger_tiles", {"level": level, "index": index, "hashes": tile})
    return len(hashes), merkle.root(hashes)


def change_tile(connection: Connection, rng: random.Random, number: int) -> Target:
    """A tile has a bit flipped, is cut, grows, or goes; or one comes."""
    tile = one(connection, rng, "SELECT * FROM ledger_tiles ORDER BY level, index")
    key = {"level": tile["level"], "index": tile["index"]}
    how = ["flipped", "cut", "longer", "gone", "new"][number % 5]
    if how == "gone":
        connection.execute("DELETE FROM ledger_tiles WHERE level = %s AND index = %s", [tile["level"], tile["index"]])
    elif how == "new":
        insert(connection, "ledger_tiles", {"level": rng.randrange(3), "index": 50, "hashes": os.urandom(64)})
    else:
        hashes = tile["hashes"]
        changed = {"flipped": other(rng, "hashes", hashes), "cut": hashes[:-32], "longer": hashes + os.urandom(32)}
        update(connection, "ledger_tiles", key, {"hashes": changed[how]})
    return Target(tables={"ledger_tiles"}, what=how)


def change_head(connection: Connection, rng: random.Random, number: int) -> Target:
    """A head is another, is signed by another, goes, or comes."""
    head = one(connection, rng, "SELECT * FROM ledger_checkpoints ORDER BY id")
    how = ["note", "root", "size", "origin", "created_at", "other key", "other root", "gone", "new"][number % 9]
    stranger = Signer.generate(head["origin"])
    forged = Checkpoint(head["origin"], head["size"], os.urandom(32))
    values: Row = {}
    if how in ("root", "size", "origin", "created_at"):
        values = {how: other(rng, how, head[how])}
    elif how == "note":
        # Anywhere but at the end of the signature, where two bits of a character say nothing.
        place = rng.randrange(len(head["note"].rstrip("=\n")) - 1)
        written = "y" if head["note"][place] == "x" else "x"
        values = {"note": head["note"][:place] + written + head["note"][place + 1 :]}
    elif how == "other key":
        values = {"note": sign(Checkpoint(head["origin"], head["size"], head["root"]).text(), stranger)}
    elif how == "other root":
        values = {"note": sign(forged.text(), stranger), "root": forged.root}
    if how == "gone":
        connection.execute("DELETE FROM ledger_checkpoints WHERE id = %s", [head["id"]])
    elif how == "new":
        more = Checkpoint(head["origin"], 10**6, os.urandom(32))
        row = {"origin": more.origin, "size": more.size, "root": more.root, "note": sign(more.text(), stranger)}
        insert(connection, "ledger_checkpoints", row)
    else:
        update(connection, "ledger_checkpoints", {"id": head["id"]}, values)
    return Target(tables={"ledger_checkpoints"}, leaves={head["size"] - 1}, what=how)


def change_key(connection: Connection, rng: random.Random, number: int) -> Target:
    """A key is another, is not endorsed, goes, or comes."""
    how = ["vkey", "origin", "endorsement", "gone", "stranger", "stranger with a log"][number % 6]
    key = one(connection, rng, "SELECT * FROM ledger_keys ORDER BY id")
    stranger = Signer.generate(key["origin"] if how == "stranger" else f"log/{number}").verifier
    if how == "gone":
        connection.execute("DELETE FROM ledger_keys WHERE id = %s", [key["id"]])
    elif how.startswith("stranger"):
        insert(connection, "ledger_keys", {"vkey": stranger.to_text(), "origin": stranger.name, "reason": ""})
    else:
        changed = stranger.to_text() if how == "vkey" else "made up"
        update(connection, "ledger_keys", {"id": key["id"]}, {how: changed})
    return Target(tables={"ledger_keys", "ledger_checkpoints"}, what=how)


def fork(connection: Connection, rng: random.Random, number: int) -> Target:
    """Another past from some entry on, with all tiles made again; then also its heads, by a key of one's own."""
    call = one(connection, rng, NEW.replace("ORDER BY", "AND status = 'success' ORDER BY"))
    rng_of = random.Random(number)
    places = _leaves_of(connection, call["id"])
    while not places:
        call = one(connection, rng, NEW.replace("ORDER BY", "AND status = 'success' ORDER BY"))
        places = _leaves_of(connection, call["id"])
    call |= {"tool_name": "made_up", "display": f"{rng_of.random()}"}
    values = {"tool_name": "made_up", "display": call["display"]}
    update(connection, "tool_calls", {"id": call["id"]}, values)
    for kind in ("proposed", "settled"):
        _commit_again(connection, call, kind)
    remake_tiles(connection)
    if number % 2:
        _forge_heads(connection, min(places))
    return Target(leaves=places, what=["tiles", "tiles and heads"][number % 2])


def _forge_heads(connection: Connection, first: int) -> None:
    heads = connection.execute("SELECT * FROM ledger_checkpoints WHERE size > %s ORDER BY size", [first]).fetchall()
    hashes = [
        leaves.leaf_hash(row)
        for row in connection.execute(SEALED.replace("ORDER BY seq", "ORDER BY leaf_index")).fetchall()
    ]
    signer = Signer.generate(heads[0]["origin"])
    insert(connection, "ledger_keys", {"vkey": signer.verifier.to_text(), "origin": signer.verifier.name, "reason": ""})
    for head in heads:
        made = Checkpoint(head["origin"], head["size"], merkle.root(hashes[: head["size"]]))
        values = {"root": made.root, "note": sign(made.text(), signer)}
        update(connection, "ledger_checkpoints", {"id": head["id"]}, values)


def empty_tables(connection: Connection, rng: random.Random, number: int) -> Target:
    """A table loses all its rows."""
    every = ["ledger_entries", "tool_calls", "approval_decisions", "erasures", "history_reads", "ledger_tiles",
             "setting_changes", "ledger_checkpoints", "ledger_keys"]  # fmt: skip
    table = every[number % len(every)]
    first = one(connection, random.Random(0), SEALED)
    connection.execute(f"DELETE FROM {table}".encode())
    return Target(tables={table, "ledger_entries"}, leaves={first["leaf_index"]}, what=table)


Mutation = Callable[[Connection, random.Random, int], Target]
# How many of each.
GROUPS: dict[str, dict[Mutation, int]] = {
    "calls": {change_column: 111, change_columns: 60, change_erased: 72, change_open: 36, empty_column: 24},
    "rows": {swap_calls: 42, rehash: 40, delete_call: 40, add_call: 30, change_record: 90, delete_record: 30,
             add_record: 30},
    "entries": {change_entry: 100, delete_entries: 50, add_entry: 45, swap_entries: 40},
    "log": {truncate_log: 32, change_tile: 40, change_head: 44, change_key: 18, fork: 17, empty_tables: 9},
}  # fmt: skip

# Each changes one row that the verification compares with its own entries alone: what it says about other rows stays.
OF_ONE_ROW = frozenset({
    change_column, change_columns, change_erased, change_open, empty_column,
    swap_calls, add_call,
})  # fmt: skip


def mutations(group: str) -> Iterator[tuple[Mutation, int]]:
    """Each of a group, as often as it is wanted."""
    for mutation, count in GROUPS[group].items():
        for number in range(count):
            yield mutation, number
