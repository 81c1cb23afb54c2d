"""Calling a tool without a chat: the same gates, record, workers and approvals as a model's call, and no run around it.

Such a call has no agent: its user's own rights decide, with the tenant's settings, grants and rules, and the tool's own
time limit. Nothing drives it: the workers run it, and once humans have approved it `approvals` lets it go on.
"""

import asyncio
import hashlib
import json
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from audit.calls import reading, recorder
from audit.calls.proposing import NewCall, Place
from audit.calls.recorder import Failure
from audit.calls.rows import ToolCall
from audit.canonical import canonical
from audit.identifiers import uuid7
from audit.models import Origin, Status
from tenants.scope.transactions import TenantScope, transaction
from tools.gates import order
from tools.gates.interface import Caller, Rights
from tools.invocation import ports, recording
from tools.invocation.dispatch import dispatch
from tools.invocation.evaluation import Suggestion
from tools.invocation.live import wakeups
from tools.invocation.once import idempotency, pending
from tools.invocation.once.idempotency import Claim, ClaimLost
from tools.invocation.once.pending import AlreadyPending
from tools.invocation.ports import ConnectedUnitOfWork
from tools.invocation.proposal import Proposal, Proposed, propose

# A tool's own time limit is shorter; no agent says anything else here.
MOST_SECONDS = 300.0
# How long a call that runs is waited for where nobody says how long. One that waits for a human is not.
WAIT_SECONDS = 30.0
# How soon a waiting request looks by itself, in case a wake-up was lost; each time after twice as long, up to the most.
LOOK_SECONDS, MOST_LOOK_SECONDS = 2.0, 30.0
# Writes what else belongs into the commit that records a call.
Bind = Callable[[ConnectedUnitOfWork, list[NewCall]], Awaitable[None]]
Seen = Callable[[ToolCall], Awaitable[None]]


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
            bind = None if claim is None else _binding(claim)
            call = await _record(caller, Suggestion(name, text), origin, bind=bind)
        except ClaimLost:
            continue
        return call if call.final else await until_rest(caller, call.id, wait, sent=call)


class Begun(NamedTuple):
    """A call, and whether it is one that was pending."""

    call: ToolCall
    resumed: bool


async def begin(caller: TenantScope, name: str, arguments: Any, *, origin: Origin, resumes: bool = False) -> Begun:
    """Record a call in the user's name, and send it if it may run, without waiting for it.

    `arguments` is a JSON value. A call that a gate refuses is final. With `resumes` it is the user's pending call with
    the same name and arguments, where there is one (see `tools.invocation.once.pending`); one that humans have to
    approve becomes pending.
    """
    text = json.dumps(arguments)
    request_hash = _hash(name, text)

    async def hold(step: ConnectedUnitOfWork, evaluated: list[NewCall]) -> None:
        await pending.hold(step.connection, caller, request_hash, evaluated[0].id)

    while True:
        found = await pending.find(caller, request_hash) if resumes else None
        if found is not None:
            return Begun(found, True)
        with suppress(AlreadyPending):
            suggestion, held = Suggestion(name, text), hold if resumes else None
            return Begun(await _record(caller, suggestion, origin, hold=held), False)


async def hand_over_later(caller: TenantScope, call: ToolCall) -> None:
    """Let the same name and arguments be this call, whose client is told that it still runs."""
    async with transaction(caller) as connection:
        with suppress(AlreadyPending):
            await pending.hold(connection, caller, _hash_of(call), call.id)


async def handed_over(caller: TenantScope, call: ToolCall) -> None:
    """Let the same name and arguments be a new call: the client has the result of this one."""
    async with transaction(caller) as connection:
        await pending.release(connection, caller, _hash_of(call), call.id)


async def cancel(caller: TenantScope, call_id: uuid.UUID) -> ToolCall:
    """End a call of the user's that has no run, if nobody has begun it; as it is then.

    One that has begun ends by itself, and what is final stays as it is. Raises LookupError.
    """
    display = "The call was cancelled before it began."
    cancelled = Failure("cancelled", "The client cancelled the call.", display=display)
    approvals = ports.approvals()
    asked: Any = None
    async with transaction(caller) as connection:
        call = await reading.one(connection, call_id, caller.user_id)
        if call is None or call.run_id is not None:
            raise LookupError(call_id)
        if call.approval_id is not None and not call.final:
            # The request first, as everybody who decides about it does.
            asked = await approvals.withdraw(connection, call.approval_id)
        if call.asks_user:
            await ports.questions().withdraw(connection, call_id)
        if await recorder.withdraw_alone(connection, call_id, cancelled):
            await pending.release(connection, caller, _hash_of(call), call_id)
        call = await reading.one(connection, call_id, caller.user_id)
        assert call is not None
    await wakeups.publish(call_id)
    if asked is not None:
        await approvals.publish(asked)
    return call


async def until_rest(
    caller: TenantScope,
    call_id: uuid.UUID,
    wait: float | None = None,
    seen: Seen | None = None,
    *,
    answered: int | None = None,
    sent: ToolCall | None = None,
) -> ToolCall:
    """The user's call once it is final, asks its user, or has been waited for, as in `invoke`; `seen` is given every
    look at it.

    `answered` is the fence under which it asked what has been answered: it goes on from there. `sent` is the call as
    it was recorded a moment ago: one that is queued is looked at once it may have changed. Raises LookupError.
    """
    began, pause = time.monotonic(), LOOK_SECONDS
    waits = sent is not None and sent.status == Status.QUEUED and (wait is None or wait > 0)
    call = sent if waits else None
    with ports.watch(call_id) as changed:
        while True:
            if call is None:
                changed.clear()
                call = await reading.look(caller, call_id)
            if call is None:
                raise LookupError(call_id)
            if seen is not None:
                await seen(call)
            patience = wait
            if patience is None:
                patience = 0 if call.status == Status.AWAITING_APPROVAL else WAIT_SECONDS
            left = patience - (time.monotonic() - began)
            asks = call.asks_user and call.fence != answered
            if call.final or asks or left <= 0:
                return call
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left, pause)):
                    await changed.wait()
            pause = min(2 * pause, MOST_LOOK_SECONDS)
            call = None


def _binding(claim: Claim) -> Bind:
    async def bind(step: ConnectedUnitOfWork, evaluated: list[NewCall]) -> None:
        await idempotency.bind(step.connection, claim, evaluated[0].id)

    return bind


async def _record(
    caller: TenantScope,
    suggestion: Suggestion,
    origin: Origin,
    *,
    bind: Bind | None = None,
    hold: Bind | None = None,
) -> ToolCall:
    """Record one call, and send it if it may run; when `bind` or `hold` raises, nothing was recorded. `hold` is asked
    only about a call that humans have to approve."""
    approvals = ports.approvals()
    place = Place(*caller, origin=origin.value)

    async def record(
        step: ConnectedUnitOfWork, evaluated: list[NewCall], queued: frozenset[uuid.UUID], rights: Rights
    ) -> Sequence[ToolCall]:
        recorded = await recording.propose(step.own, place, evaluated, queued, rights)
        if bind is not None:
            await bind(step, evaluated)
        if hold is not None and evaluated[0].approval_id is not None:
            await hold(step, evaluated)
        return recorded

    proposed: Proposed = await propose(
        Proposal(
            suggestions=[suggestion],
            place=place,
            caller=Caller(*caller, origin=origin.value),
            step=lambda alone: approvals.step(caller, alone and bind is None),
            gates=order.new_call,
            new_id=uuid7,
            record=record,
            committed=lambda proposed: None,
            context=list,
            dispatch=dispatch,
            publish=approvals.publish,
            earlier_failures=None,
            most_seconds=MOST_SECONDS,
        ),
        approvals.remembered(caller),
    )
    return proposed.calls[0]


def _hash_of(call: ToolCall) -> bytes:
    return _hash(call.tool_name, json.dumps(call.input))


def _hash(name: str, arguments: str) -> bytes:
    """The same tool with the same arguments, in whatever order they were written, has the same hash."""
    try:
        asked = canonical({"name": name, "arguments": json.loads(arguments)})
    except ValueError:
        # What has no canonical form is the same only as it was sent.
        asked = json.dumps([name, arguments]).encode()
    return hashlib.sha256(asked).digest()
