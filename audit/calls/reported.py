"""Calls that a client says it has made itself: one row and one ledger entry each, final from the beginning.

Toolgate has neither asked a gate about such a call nor run it. Its origin is `native`, and its entry `reported`; no
call of Toolgate's has either, so nobody takes what a client says for what Toolgate did.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from psycopg.types.json import Jsonb

from audit.calls import ledger
from audit.calls.rows import ToolCall
from audit.canonical import sha256_hex
from audit.identifiers import uuid7
from audit.models import Origin, Status
from tenants.scope import rows
from tenants.scope.transactions import Connection, TenantScope

_INSERT = f"INSERT INTO tool_calls ({rows.columns(ToolCall)}) VALUES ({rows.placeholders(ToolCall)})"
_HOLD = "SELECT hold_owner(%s, %s)"
_JSON = ("input", "decision", "side_effects")


@dataclass(frozen=True, slots=True)
class Reported:
    """What a client says of a call; `error` is why it failed, None for one that succeeded.

    `output` is what is stored of it: with `output_bytes` and `output_hash` of the whole.
    """

    tool_name: str
    tier: str | None
    input: Any
    display: str
    output: Any = None
    output_bytes: int | None = None
    output_hash: str | None = None
    error: str | None = None
    execution_time_ms: int | None = None


async def record(connection: Connection, caller: TenantScope, reported: Sequence[Reported]) -> list[ToolCall]:
    """Write calls that the caller's client reports, in the caller's transaction; their rows. Raises NotCanonical."""
    written = [_row(caller, position, each) for position, each in enumerate(reported)]
    if written:
        await connection.execute(_HOLD, [*caller])
    for call in written:
        values = rows.values(call)
        values |= {name: Jsonb(values[name]) for name in _JSON}
        # JSON null is an output too.
        values["output"] = None if call.output_hash is None else Jsonb(call.output)
        await connection.execute(_INSERT.encode(), values)
        entry = ledger.entry(call.tenant_id, _key(call), ledger.reported(rows.values(call)), call_id=call.id)
        await connection.execute(ledger.INSERT.encode(), entry)
    return written


def _row(caller: TenantScope, position: int, said: Reported) -> ToolCall:
    now = datetime.now(UTC)
    return ToolCall(
        id=uuid7(),
        tenant_id=caller.tenant_id,
        user_id=caller.user_id,
        origin=Origin.NATIVE.value,
        conversation_id=None,
        message_id=None,
        run_id=None,
        turn=None,
        position=position,
        tool_name=said.tool_name,
        tier=said.tier,
        input=said.input,
        input_raw=None,
        params_hash=sha256_hex(said.input),
        decision=[],
        time_limit_ms=0,
        status=Status.SUCCESS.value if said.error is None else Status.ERROR.value,
        created_at=now,
        row_key=os.urandom(32),
        output=said.output,
        output_bytes=said.output_bytes,
        output_hash=said.output_hash,
        display=said.display,
        error_code=None if said.error is None else "execution_error",
        error_message=said.error,
        execution_time_ms=said.execution_time_ms,
        finished_at=now,
    )


def _key(call: ToolCall) -> bytes:
    assert call.row_key is not None
    return call.row_key
