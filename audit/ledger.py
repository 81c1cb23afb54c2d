"""What a ledger entry commits to, and how.

An entry holds `HMAC-SHA-256(row_key, canonical payload)`. The payload can be made again from the call's
row as long as it stands; once payload, hashes and row_key are erased, the commitment says nothing about
them and every proof over the entries stays valid. The payload's first field is the version of its form.
"""

import hashlib
import hmac
import uuid
from datetime import datetime
from typing import Any

from audit.canonical import canonical

VERSION = 2


def moment(value: datetime) -> str:
    """A time as entries write it: UTC, with microseconds."""
    return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def proposed(call: dict[str, Any]) -> dict[str, Any]:
    """The payload of "proposed": what the model asked for and what each gate answered."""
    return {
        "version": VERSION,
        "kind": "proposed",
        **{name: str(call[name]) for name in ("id", "tenant_id", "user_id", "conversation_id", "message_id", "run_id")},
        **{name: call[name] for name in ("turn", "position", "tool_name", "tier", "params_hash", "decision")},
        "approval_id": call["approval_id"] and str(call["approval_id"]),
        "input_raw_hash": call["input_raw"] and hashlib.sha256(call["input_raw"].encode()).hexdigest(),
        "created_at": moment(call["created_at"]),
    }


def decided(decision: dict[str, Any]) -> dict[str, Any]:
    """The payload of "decided": what one human said to the call, and to which arguments."""
    return {
        "version": VERSION,
        "kind": "decided",
        **{name: str(decision[name]) for name in ("id", "tenant_id", "request_id", "call_id", "user_id")},
        **{name: decision[name] for name in ("verdict", "reason", "via", "params_hash", "edit")},
        "created_at": moment(decision["created_at"]),
    }


def settled(call: dict[str, Any]) -> dict[str, Any]:
    """The payload of "settled": what became of the call."""
    return {
        "version": VERSION,
        "kind": "settled",
        "id": str(call["id"]),
        **{name: call[name] for name in ("status", "error_code", "error_message", "error_field", "display")},
        **{name: call[name] for name in ("output_hash", "side_effects", "attempt", "execution_time_ms")},
        **{name: call[name] for name in ("approved_params_hash", "resumed_decision")},
        "finished_at": moment(call["finished_at"]),
    }


def commitment(row_key: bytes, payload: dict[str, Any]) -> bytes:
    """The entry's 32 bytes for a payload."""
    return hmac.digest(row_key, canonical(payload), "sha256")


def entry(call: dict[str, Any], payload: dict[str, Any]) -> tuple[uuid.UUID, uuid.UUID, str, int, bytes]:
    """The columns of an entry about the call: tenant_id, call_id, kind, version, commitment."""
    return call["tenant_id"], call["id"], payload["kind"], VERSION, commitment(call["row_key"], payload)
