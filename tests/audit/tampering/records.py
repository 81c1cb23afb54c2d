"""What can be done to decisions, erasures, readings and changes of settings."""

import random
import uuid

from audit.identifiers import uuid7
from tests.audit.tampering.rows import Connection, Row, Target, insert, one, other, update

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
