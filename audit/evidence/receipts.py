"""A call's receipt: what was done, in hashes, with the ledger's entries, what they state, and that the log has them.

docs/verify.py checks it with a public key and without this server. An erased call has no statements; its receipt still
proves that its entries are in the log.
"""

import uuid
from typing import Any

from django.db import connections, router

from audit.calls import decisions
from audit.canonical import canonical
from audit.checks import statements
from audit.evidence import proofs
from audit.log import leaves
from audit.models import Erasure, LedgerEntry, Origin, ToolCall
from tenants.errors import Refused
from tenants.scope import jsonb

Row = dict[str, Any]

_JSONB = 3802
# What a receipt shows of what became of a question to the call's user; the content only by its hash.
_ANSWERED = ("id", "round", "position", "status", "action", "question_hash", "content_hash", "via", "answered_at")


class NoReceipt(Refused):
    """Toolgate has not run the call, so it cannot say that it did."""

    status = 409
    code = "reported_call"

    def __init__(self) -> None:
        super().__init__(
            "This call was reported by a client that ran it itself. Toolgate has only recorded what the client said, "
            "and gives no receipt for it. An auditor finds the entry in an export of the ledger."
        )


def of_call(call: ToolCall) -> Row:
    """The receipt of a call that the caller may see, on the current login. Raises NoReceipt."""
    if call.origin == Origin.NATIVE:
        raise NoReceipt
    entries = [vars(entry) for entry in LedgerEntry.objects.filter(tenant_id=call.tenant_id, call_id=call.id)]
    decided = _read(decisions.queries().with_usernames, call) if call.approval_id else []
    entered = {entry["kind"] for entry in entries}
    answered = _read(decisions.answers().of_call, call) if "answered" in entered else []
    erased = _erasure(entries) if call.row_key is None else None
    return {
        "call_id": call.id,
        "tool": call.tool_name,
        "status": call.status,
        "origin": call.origin,
        "params_hash": call.params_hash,
        "output_hash": call.output_hash,
        "latency_ms": call.execution_time_ms,
        "side_effects": call.side_effects,
        "decision": call.decision,
        "resumed_decision": call.resumed_decision,
        "approval": _approval(call, decided),
        "answers": [{name: each[name] for name in _ANSWERED} for each in answered],
        "entries": [_entry(entry, call, decided + answered) for entry in entries],
        "sealed": bool(entries) and all(entry["leaf_index"] is not None for entry in entries),
        "inclusion_proof": _proof(entries),
        "commitment_key": None if call.row_key is None else bytes(call.row_key).hex(),
        "erased": erased,
    }


def _read(query: str, call: ToolCall) -> list[Row]:
    with connections[router.db_for_read(ToolCall)].cursor() as cursor:
        cursor.execute(query, [call.tenant_id, call.id])
        columns = cursor.description
        return [
            {
                column.name: jsonb.loads(value) if value and column.type_code == _JSONB else value
                for column, value in zip(columns, row, strict=True)
            }
            for row in cursor.fetchall()
        ]


def _approval(call: ToolCall, decided: list[Row]) -> Row | None:
    if call.approval_id is None:
        return None
    names = ("user_id", "username", "verdict", "reason", "via", "created_at")
    return {"id": call.approval_id, "decisions": [{name: each[name] for name in names} for each in decided]}


def _erasure(entries: list[Row]) -> Row:
    ids = [entry["record_id"] for entry in entries if entry["kind"] == "erased"]
    erasure = Erasure.objects.filter(id__in=ids).select_related("actor").order_by("id").first()
    if erasure is None:
        return {"when": None, "scope": None, "by": None, "username": None, "reason": ""}
    return {
        "when": erasure.created_at,
        "scope": erasure.scope,
        "by": erasure.actor_id,
        "username": erasure.actor and erasure.actor.username,
        "reason": erasure.reason,
    }


def _entry(entry: Row, call: ToolCall, decided: list[Row]) -> Row:
    names = ("seq", "kind", "version", "record_id", "created_at", "leaf_index")
    return {
        **{name: entry[name] for name in names},
        "commitment": bytes(entry["commitment"]).hex(),
        "leaf": leaf_text(entry),
        "statement": _statement(entry, call, decided),
    }


def leaf_text(entry: Row) -> str | None:
    """The exact text of a sealed entry's leaf."""
    return None if entry["leaf_index"] is None else canonical(leaves.leaf(entry)).decode()


def _statement(entry: Row, call: ToolCall, decided: list[Row]) -> str | None:
    """The exact text that the entry commits to; None when it was erased, or the rows no longer say it."""
    if call.row_key is None or entry["kind"] not in statements.OF_CALL:
        return None
    values = vars(call)
    for record in decided if entry["kind"] in statements.OF_RECORD else [{}]:
        if entry["record_id"] not in (None, record.get("id", uuid.UUID(int=0))):
            continue
        try:
            statement = statements.made_again(entry, values, record)
        except ValueError:
            return None
        if statement is not None and statement.fits(bytes(entry["commitment"])):
            return statement.text
    return None


def _proof(entries: list[Row]) -> Row | None:
    """The proof for all of a call's entries; None as long as one of them is not sealed."""
    if not entries or any(entry["leaf_index"] is None for entry in entries):
        return None
    head = proofs.head()
    if head is None or any(entry["leaf_index"] >= head.size for entry in entries):
        return None
    indices = [entry["leaf_index"] for entry in entries]
    found = proofs.Prover(head.size).proofs(indices)
    texts = [leaf_text(entry) or "" for entry in entries]
    return proofs.as_json(head, zip(indices, texts, found, strict=True))
