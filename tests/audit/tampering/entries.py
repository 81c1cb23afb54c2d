"""What can be done to entries of the ledger."""

import random

from tests.audit.tampering.rows import Connection, Row, Target, insert, one, other, update

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
