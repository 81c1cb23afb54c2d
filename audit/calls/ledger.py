"""What a ledger entry commits to, and how.

An entry holds `HMAC-SHA-256(row_key, canonical payload)`. The payload can be computed again from its rows as long as
they exist. Once payload, hashes and row_key are erased, the commitment says nothing about
them and every proof over the entries stays valid. The payload's first field is the version of its form.

    version 1   proposed, decided, settled
    version 2   proposed: + approval_id; settled: + approved_params_hash, resumed_decision
    version 3   proposed: + time_limit_ms; settled: + the lease's last fence, its times, and the recorded part of
                its output; the kinds erased, dropped and read
    version 4   proposed, erased: + origin; every call before it was a chat's
    version 5   the kinds answered, changed and reported
    version 6   proposed, reported, erased: + agent, model; no call before it has them
    version 7   settled, reported, erased: + waits_on_run; no call before it has one
"""

import hashlib
import hmac
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from audit.canonical import canonical, sha256_hex

VERSION = 7
# From this version on, entries vouch for every column of a final call.
COMPLETE = 3
# The first version that says how a call came in.
WITH_ORIGIN = 4
# The first version that says through which agent and by which model.
WITH_AGENT = 6
# The first version that says which run a call began.
WITH_CHILD = 7
# The first version that each kind is in, where that is not the first of all.
SINCE = {"erased": 3, "dropped": 3, "read": 3, "answered": 5, "changed": 5, "reported": 5}
Values = Mapping[str, Any]


def moment(value: datetime) -> str:
    """A time as entries write it: UTC, with microseconds."""
    if value.tzinfo is not UTC:
        value = value.astimezone(UTC)
    return value.isoformat(timespec="microseconds")[:-6] + "Z"


def proposed(call: Values, version: int = VERSION) -> dict[str, Any]:
    """The payload of "proposed": what the model asked for and what each gate answered."""
    payload = {
        "version": version,
        "kind": "proposed",
        **_texts(call, "id", "tenant_id", "user_id", "conversation_id", "message_id", "run_id"),
        **_values(call, "turn", "position", "tool_name", "tier", "params_hash", "decision"),
        "input_raw_hash": call["input_raw"] and hashlib.sha256(call["input_raw"].encode()).hexdigest(),
        "created_at": moment(call["created_at"]),
    }
    if version >= 2:
        payload |= _texts(call, "approval_id")
    if version >= 3:
        payload |= _values(call, "time_limit_ms")
    if version >= WITH_ORIGIN:
        payload |= _values(call, "origin")
    if version >= WITH_AGENT:
        payload |= _values(call, "agent", "model")
    return payload


def decided(decision: Values, version: int = VERSION) -> dict[str, Any]:
    """The payload of "decided": a human's decision about the call and its arguments, a row of `approval_decisions`."""
    return {
        "version": version,
        "kind": "decided",
        **_texts(decision, "id", "tenant_id", "request_id", "call_id", "user_id"),
        **_values(decision, "verdict", "reason", "via", "params_hash", "edit"),
        "created_at": moment(decision["created_at"]),
    }


def answered(question: Values, version: int = VERSION) -> dict[str, Any]:
    """The payload of "answered": what became of a question to the call's user, a row of `questions`."""
    return {
        "version": version,
        "kind": "answered",
        **_texts(question, "id", "tenant_id", "call_id", "user_id"),
        **_values(question, "round", "position", "question_hash", "status", "action", "content_hash", "via"),
        "answered_at": moment(question["answered_at"]),
    }


def settled(call: Values, version: int = VERSION) -> dict[str, Any]:
    """The payload of "settled": how the call ended."""
    payload = {
        "version": version,
        "kind": "settled",
        **_texts(call, "id"),
        **_values(call, "status", "error_code", "error_message", "error_field", "display"),
        **_values(call, "output_hash", "side_effects", "attempt", "execution_time_ms"),
        "finished_at": moment(call["finished_at"]),
    }
    if version >= 2:
        payload |= _values(call, "approved_params_hash", "resumed_decision")
    if version >= 3:
        payload |= _values(call, "fence", "output_bytes") | {"output_kept_hash": kept_hash(call["output"])}
        payload |= {name: call[name] and moment(call[name]) for name in ("queued_at", "started_at")}
    if version >= WITH_CHILD:
        payload |= _texts(call, "waits_on_run")
    return payload


def reported(call: Values, version: int = VERSION) -> dict[str, Any]:
    """The payload of "reported": a call that a client says it has made itself, and how it says that it ended."""
    return {**settled(call, version), **proposed(call, version), "kind": "reported"}


def erased(erasure: Values, call: Values, version: int = VERSION) -> dict[str, Any]:
    """The payload of "erased": the erasure, a row of `erasures`, that removed the call's payload.

    The call is its row afterwards. Its own key is gone, so this entry covers what is left, also of the
    `decisions` about it, each with whether it `counted`.
    """
    remains: dict[str, Any] = {
        **_texts(call, "user_id", "conversation_id", "message_id", "run_id", "approval_id"),
        **_values(call, "turn", "position", "tool_name", "tier", "decision", "resumed_decision", "status"),
        **_values(call, "error_code", "side_effects", "output_bytes", "attempt", "fence", "time_limit_ms"),
        **_values(call, "execution_time_ms"),
        **{name: call[name] and moment(call[name]) for name in ("created_at", "queued_at", "started_at")},
        "finished_at": moment(call["finished_at"]),
    }
    if version >= WITH_ORIGIN:
        remains |= _values(call, "origin")
    if version >= WITH_AGENT:
        remains |= _values(call, "agent", "model")
    if version >= WITH_CHILD:
        remains |= _texts(call, "waits_on_run")
    remains["decisions"] = [
        _texts(each, "id", "request_id", "user_id")
        | _values(each, "verdict", "via", "counted")
        | {"created_at": moment(each["created_at"])}
        for each in call.get("decisions", ())
    ]
    return _erasure(erasure, "erased", version) | {"call_id": str(call["id"]), "remains": remains}


def dropped(erasure: Values, version: int = VERSION) -> dict[str, Any]:
    """The payload of "dropped": that the tenant's calls of a month, with ids in [low, high), were dropped."""
    return _erasure(erasure, "dropped", version) | _texts(erasure, "low", "high") | _values(erasure, "calls")


def _erasure(erasure: Values, kind: str, version: int) -> dict[str, Any]:
    return {
        "version": version,
        "kind": kind,
        **_texts(erasure, "id", "tenant_id", "actor_id", "subject_id"),
        **_values(erasure, "scope", "reason"),
        "created_at": moment(erasure["created_at"]),
    }


def read(reading: Values, version: int = VERSION) -> dict[str, Any]:
    """The payload of "read": who read or exported other people's history, a row of `history_reads`."""
    return {
        "version": version,
        "kind": "read",
        **_texts(reading, "id", "tenant_id", "reader_id", "user_id", "call_id"),
        **_values(reading, "action", "via", "filters", "calls"),
        "created_at": moment(reading["created_at"]),
    }


def changed(change: Values, version: int = VERSION) -> dict[str, Any]:
    """The payload of "changed": who changed which setting from what to what, a row of `setting_changes`."""
    return {
        "version": version,
        "kind": "changed",
        **_texts(change, "id", "tenant_id", "actor_id", "target_id"),
        **_values(change, "via", "target", "name", "action", "changes"),
        "created_at": moment(change["created_at"]),
    }


def kept_hash(output: Any) -> str | None:
    """The hash of the recorded part of an output that was cut; `output_hash` is of the whole output."""
    return sha256_hex(output) if isinstance(output, dict) and output.get("truncated") is True else None


def _texts(row: Values, *names: str) -> dict[str, str | None]:
    return {name: None if row[name] is None else str(row[name]) for name in names}


def _values(row: Values, *names: str) -> dict[str, Any]:
    return {name: row[name] for name in names}


def commitment(row_key: bytes, payload: dict[str, Any]) -> bytes:
    """The entry's 32 bytes for a payload."""
    return hmac.digest(row_key, canonical(payload), "sha256")


def entry(
    tenant_id: uuid.UUID,
    row_key: bytes,
    payload: dict[str, Any],
    *,
    call_id: uuid.UUID | None = None,
    record_id: uuid.UUID | None = None,
) -> tuple[Any, ...]:
    """The values of `COLUMNS` for an entry about a call, or about the record of another table, or both."""
    return tenant_id, call_id, record_id, payload["kind"], VERSION, commitment(row_key, payload)


COLUMNS = ("tenant_id", "call_id", "record_id", "kind", "version", "commitment")
INSERT = f"INSERT INTO ledger_entries ({', '.join(COLUMNS)}) VALUES (%s, %s, %s, %s, %s, %s)"
