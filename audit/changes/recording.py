"""Writes changes of settings: a row of `setting_changes` and a ledger entry each, in the transaction of the change."""

import os
from datetime import UTC, datetime
from typing import Any

from django.db import connections, router
from psycopg.types.json import Jsonb

from audit.calls import ledger
from audit.canonical import NotCanonical, canonical, sha256_hex
from audit.identifiers import uuid7
from audit.models import SettingChange
from tenants.people import changes
from tenants.people.changes import Change

# A value beyond it is represented by its hash: instructions and schemas can be long, and are in their own tables.
LONGEST = 4096
_COLUMNS = (
    *("id", "tenant_id", "actor_id", "via", "target", "target_id", "name", "action", "changes", "row_key"),
    "created_at",
)
_INSERT = (
    f"INSERT INTO setting_changes ({', '.join(_COLUMNS)}) VALUES ({', '.join(f'%({name})s' for name in _COLUMNS)})"
)


def write(made: list[Change]) -> None:
    """Write them over the connection that the change itself goes over; RuntimeError when that has no transaction."""
    connection = connections[router.db_for_write(SettingChange)]
    if not connection.in_atomic_block:
        raise RuntimeError("a setting was changed outside a transaction, so its record could be lost")
    with connection.cursor() as cursor:
        for each in made:
            row = row_of(each)
            cursor.execute(_INSERT, row | {"changes": Jsonb(row["changes"])})
            entry = ledger.entry(row["tenant_id"], row["row_key"], ledger.changed(row), record_id=row["id"])
            cursor.execute(ledger.INSERT, entry)


def row_of(change: Change) -> dict[str, Any]:
    """A row of `setting_changes`."""
    return {
        "id": uuid7(),
        "tenant_id": change.said.tenant_id,
        "actor_id": change.by.user_id,
        "via": change.by.via,
        "target": change.said.target,
        "target_id": change.said.target_id,
        "name": change.said.name,
        "action": change.action,
        "changes": {name: [_bounded(each) for each in values] for name, values in change.values.items()},
        "row_key": os.urandom(32),
        "created_at": datetime.now(UTC),
    }


def _bounded(value: Any) -> Any:
    try:
        size = len(canonical(value))
    except NotCanonical:
        # An entry cannot state it, as little as its hash.
        return {"unsaid": type(value).__name__}
    return value if size <= LONGEST else {"sha256": sha256_hex(value), "bytes": size}


changes.register(write)
