"""Calls that the recorder alone has brought to a status, and what is written of them."""

import uuid
from typing import Any

from audit.calls import begun, ledger, proposing, recorder
from audit.calls.recorder import Failure
from audit.identifiers import uuid7
from tenants.scope.transactions import transaction
from tests.audit.calls import REFUSED, new_call, place, success
from tests.database import rows
from tests.people import Person

Row = dict[str, Any]


def row_of(call_id: uuid.UUID) -> Row:
    return rows("SELECT * FROM tool_calls WHERE id = %(id)s", id=call_id)[0]


def kinds_of(call_id: uuid.UUID) -> list[str]:
    found = rows("SELECT kind FROM ledger_entries WHERE call_id = %(id)s ORDER BY seq", id=call_id)
    return [entry["kind"] for entry in found]


async def in_status(person: Person, status: str) -> Row:
    """A call brought to a status by the recorder alone."""
    held = uuid7() if status == "awaiting_approval" else None
    call = new_call(refusal=REFUSED if status == "error" else None, approval_id=held)
    queued = frozenset() if status in ("proposed", "awaiting_approval", "error") else frozenset([call.id])
    async with transaction(person.scope) as connection:
        await proposing.propose(connection, place(person), [call], queued)
    if status in ("claimed", "running", "success"):
        async with transaction(person.scope) as connection:
            claimed = await begun.claim(connection, person.scope, call.id, 15)
            assert claimed is not None
            if status == "claimed":
                # As an older release left it.
                await connection.execute(
                    "UPDATE tool_calls SET status = 'claimed', started_at = NULL WHERE id = %s", [call.id]
                )
            if status == "success":
                assert await begun.settle(connection, claimed, success())
    found = row_of(call.id)
    assert found["status"] == status
    return found


async def withdraw(connection: recorder.Connection, call: Row) -> object:
    return await recorder.withdraw(connection, call["run_id"], Failure("cancelled", "Cancelled."))


def entries_of(call_id: uuid.UUID) -> list[Row]:
    return rows("SELECT * FROM ledger_entries WHERE call_id = %(id)s ORDER BY seq", id=call_id)


def commitments_of(call: Row) -> list[bytes]:
    payloads = [ledger.proposed(call)] + ([ledger.settled(call)] if call["status"] in ("success", "error") else [])
    return [ledger.commitment(bytes(call["row_key"]), payload) for payload in payloads]
