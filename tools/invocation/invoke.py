"""Calling a tool without a chat: the same gates, record, workers and approvals as a model's call, and no run around it.

Such a call has no agent: its user's own rights decide, with the tenant's settings, grants and rules, and the tool's own
time limit. Nothing drives it: the workers run it, and once humans have approved it `approvals` lets it go on.
"""

import asyncio
import hashlib
import json
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from audit.calls import reading
from audit.calls.recorder import NewCall, Place
from audit.calls.rows import ToolCall
from audit.canonical import canonical
from audit.identifiers import uuid7
from audit.models import Origin, Status
from tenants.scope.transactions import TenantScope, transaction
from tools.gates import order
from tools.gates.interface import Caller, Rights
from tools.invocation import idempotency, ports
from tools.invocation.dispatch import dispatch
from tools.invocation.evaluation import Suggestion
from tools.invocation.idempotency import Claim, ClaimLost
from tools.invocation.ports import ConnectedUnitOfWork
from tools.invocation.proposal import Proposal, Proposed, propose

# A tool's own time limit is shorter; no agent says anything else here.
MOST_SECONDS = 300.0
# How long a call that runs is waited for where nobody says how long. One that waits for a human is not.
WAIT_SECONDS = 30.0
# How soon a waiting request looks by itself, in case a wake-up was lost; each time after twice as long, up to the most.
LOOK_SECONDS, MOST_LOOK_SECONDS = 2.0, 30.0


async def invoke(
    caller: TenantScope,
    name: str,
    arguments: Any,
    *,
    origin: Origin,
    wait: float | None = None,
    idempotency_key: str | None = None,
) -> ToolCall:
    """Call a tool in the user's name; as it is once it is final, or has been waited for.

    `arguments` is a JSON value. A call that a gate refuses is recorded and final. `wait` is for how many seconds a call
    is waited for that runs, or that humans have to approve; None: WAIT_SECONDS for one that runs, none for humans.
    Under an `idempotency_key` the same name and arguments are the same call, for 24 hours, also while it runs.
    Raises IdempotencyMismatch.
    """
    # Lone surrogates are escaped here, and refused by the gate `schema`.
    text = json.dumps(arguments)
    while True:
        claim: Claim | None = None
        if idempotency_key is not None:
            found = await idempotency.claim(caller, idempotency_key, _hash(name, text))
            if not isinstance(found, Claim):
                return await until_rest(caller, found, wait)
            claim = found
        try:
            call = await _record(caller, Suggestion(name, text), origin, claim)
        except ClaimLost:
            continue
        return call if call.final else await until_rest(caller, call.id, wait)


async def until_rest(caller: TenantScope, call_id: uuid.UUID, wait: float | None = None) -> ToolCall:
    """The user's call once it is final, or has been waited for, as in `invoke`. Raises LookupError."""
    began, pause = time.monotonic(), LOOK_SECONDS
    with ports.watch(call_id) as changed:
        while True:
            changed.clear()
            async with transaction(caller) as connection:
                call = await reading.one(connection, call_id, caller.user_id)
            if call is None:
                raise LookupError(call_id)
            patience = wait
            if patience is None:
                patience = 0 if call.status == Status.AWAITING_APPROVAL else WAIT_SECONDS
            left = patience - (time.monotonic() - began)
            if call.final or left <= 0:
                return call
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left, pause)):
                    await changed.wait()
            pause = min(2 * pause, MOST_LOOK_SECONDS)


async def _record(caller: TenantScope, suggestion: Suggestion, origin: Origin, claim: Claim | None) -> ToolCall:
    """Record one call, and send it if it may run; raises ClaimLost, and then nothing was recorded."""
    approvals = ports.approvals()

    place = Place(*caller, origin=origin.value)

    async def record(
        step: ConnectedUnitOfWork, evaluated: list[NewCall], queued: frozenset[uuid.UUID], rights: Rights
    ) -> Sequence[ToolCall]:
        recorded = await step.propose(place, evaluated, queued, rights)
        if claim is not None:
            await idempotency.bind(step.connection, claim, evaluated[0].id)
        return recorded

    proposed: Proposed = await propose(
        Proposal(
            suggestions=[suggestion],
            place=place,
            caller=Caller(*caller),
            step=lambda alone: approvals.step(caller, alone and claim is None),
            gates=order.new_call,
            new_id=uuid7,
            record=record,
            committed=lambda proposed: None,
            context=list,
            dispatch=dispatch,
            publish=approvals.publish,
            earlier_failures=None,
            most_seconds=MOST_SECONDS,
        )
    )
    return proposed.calls[0]


def _hash(name: str, arguments: str) -> bytes:
    """The same tool with the same arguments, in whatever order they were written, has the same hash."""
    try:
        asked = canonical({"name": name, "arguments": json.loads(arguments)})
    except ValueError:
        # What has no canonical form is the same only as it was sent.
        asked = json.dumps([name, arguments]).encode()
    return hashlib.sha256(asked).digest()
