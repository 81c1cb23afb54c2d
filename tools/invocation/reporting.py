"""What clients say that they have called themselves, recorded as that: no gate is asked, nothing is run."""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from audit.calls import reading, reported
from audit.calls.reported import Reported
from audit.calls.rows import ToolCall
from audit.canonical import canonical
from tenants.scope.transactions import Connection, TenantScope, transaction
from tools.invocation import lookup
from tools.invocation.errors import ReportedOtherwise
from tools.invocation.in_worker.outcomes import stored_output
from tools.invocation.once.pending import PREFIX

MAX_ERROR = 2000
_HOLD = """
    INSERT INTO idempotency_keys (tenant_id, user_id, key, request_hash, call_id) VALUES (%s, %s, %s, %s, %s)
    ON CONFLICT (tenant_id, user_id, key) DO NOTHING RETURNING id"""
_HELD = "SELECT request_hash, call_id FROM idempotency_keys WHERE user_id = %s AND key = %s"


@dataclass(frozen=True, slots=True)
class Report:
    """One call as a client reports it; `id` is what the client calls it, `error` why it failed."""

    tool: str
    input: Any
    id: str | None = None
    output: Any = None
    error: str | None = None
    execution_time_ms: int | None = None

    @property
    def hash(self) -> bytes:
        """Of all that it says."""
        said = [self.tool, self.input, self.output, self.error, self.execution_time_ms]
        return hashlib.sha256(canonical(said)).digest()


async def report(caller: TenantScope, reports: Sequence[Report], client: str) -> list[ToolCall]:
    """Record calls of the caller's client, all of them or none; the rows in the order of the reports.

    A report whose `id` was recorded within 24 hours is that call. Raises ReportedOtherwise where it says something
    else, and NotCanonical for what has no canonical form.
    """
    while True:
        with suppress(_Raced):
            async with transaction(caller) as connection:
                return [await _one(connection, caller, each, client) for each in reports]


class _Raced(Exception):
    """The same report came at the same time, and is recorded by now."""


async def _one(connection: Connection, caller: TenantScope, said: Report, client: str) -> ToolCall:
    # A client's own keys are printable ASCII.
    key = None if said.id is None else f"{PREFIX}reported {hashlib.sha256(said.id.encode()).hexdigest()}"
    if key is not None:
        held = await (await connection.execute(_HELD, [caller.user_id, key])).fetchone()
        if held is not None:
            call = await reading.one(connection, held["call_id"], caller.user_id)
            if bytes(held["request_hash"]) != said.hash or call is None:
                raise ReportedOtherwise(str(said.id))
            return call
    tool = await lookup.of_call(connection, said.tool)
    about = f"Reported by {client}" if client else "Reported by a client"
    output = stored_output(said.output) if said.error is None else {}
    [call] = await reported.record(
        connection,
        caller,
        [
            Reported(
                tool_name=said.tool,
                tier=None if tool is None else tool.tier.value,
                input=said.input,
                display=f"{about}, which ran it itself.",
                error=None if said.error is None else said.error[:MAX_ERROR],
                execution_time_ms=said.execution_time_ms,
                **output,
            )
        ],
    )
    if key is not None:
        held = await (await connection.execute(_HOLD, [*caller, key, said.hash, call.id])).fetchone()
        if held is None:
            raise _Raced
    return call
