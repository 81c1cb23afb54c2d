"""A leaf of the log: a ledger entry as bytes.

    {"leaf": 1, "index", "tenant_id", "tenant_index", "seq", "call_id", "record_id", "kind", "version", "commitment",
     "created_at"}

as RFC 8785 canonical JSON: ids are text or null, the commitment is hexadecimal, the time as entries write it.
"""

from collections.abc import Mapping
from typing import Any

from audit.calls.ledger import moment
from audit.canonical import canonical
from audit.log import merkle

FORM = 1


def leaf(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The leaf of a sealed entry, a row of `ledger_entries`."""
    return {
        "leaf": FORM,
        "index": entry["leaf_index"],
        "tenant_id": str(entry["tenant_id"]),
        "tenant_index": entry["tenant_index"],
        "seq": entry["seq"],
        "call_id": _text(entry["call_id"]),
        "record_id": _text(entry["record_id"]),
        "kind": entry["kind"],
        "version": entry["version"],
        "commitment": bytes(entry["commitment"]).hex(),
        "created_at": moment(entry["created_at"]),
    }


def leaf_hash(entry: Mapping[str, Any]) -> bytes:
    """The hash of a sealed entry's leaf, as in level 0 of the tiles."""
    return merkle.leaf_hash(canonical(leaf(entry)))


def _text(value: object) -> str | None:
    return None if value is None else str(value)
