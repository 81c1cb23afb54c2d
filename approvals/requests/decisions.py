"""What humans, and time, do to approval requests.

    pending → approved     approve   by as many approvers as it needs, each of the same revision of the arguments
    pending → denied       deny      by one approver; the call ends with it
    pending → cancelled    cancel    by the one who asked; the call ends with it
    pending → expired      expire    by the sweeper, or by whoever comes too late; the call ends with it

Each locks the request, so of decisions that race one wins and the others are refused; a decision, its row in
`approval_decisions`, its ledger entry and the end of a refused call commit together. Afterwards the run is woken up
and goes on in a worker; so does a call without a run. When nobody wakes them up, the sweeper finds them.

To approve other arguments than the model's is an edit (`edits`); who may decide, and whose vote counts, is in `votes`.
"""

import re
import uuid
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from psycopg.types.json import Jsonb

from approvals import events, publishing
from approvals.errors import (
    AlreadyDecided,
    AlreadyVoted,
    ArgumentsChanged,
    Expired,
    InvalidReason,
    NoSuchRequest,
    NotAnApprover,
    NotYours,
    OwnRequest,
)
from approvals.events import ApprovalEvents, Change
from approvals.requests import edits, repository, votes
from approvals.rows import ApprovalRequest
from audit.calls import reading, recorder
from audit.calls.recorder import Failure
from audit.calls.rows import ToolCall
from audit.identifiers import uuid7
from tenants.scope import rows
from tenants.scope.transactions import Connection, TenantScope, transaction
from tools.invocation.dispatch import request_resumption, request_takeover
from tools.invocation.live import wakeups

# An approval in the last moment still leaves the run time to go on.
GRACE = timedelta(minutes=10)
MAX_REASON = 2000
_UNSTORABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")

_DECISION = """
    INSERT INTO approval_decisions (id, tenant_id, request_id, call_id, user_id, verdict, reason, via, params_hash,
        revision, edit, created_at)
    VALUES (%(id)s, %(tenant_id)s, %(request_id)s, %(call_id)s, %(user_id)s, %(verdict)s, %(reason)s, %(via)s,
        %(params_hash)s, %(revision)s, %(edit)s, %(created_at)s)"""
_COLUMNS = rows.columns(ApprovalRequest)
_END = f"""
    UPDATE approval_requests SET status = %s, decided_at = %s, usable_until = %s, approved_by = %s, used_at = %s
    WHERE id = %s AND status = 'pending' RETURNING {_COLUMNS}"""


@dataclass(frozen=True, slots=True)
class Decider:
    """Who decides, and where: `via` is api, page, socket or admin."""

    tenant_id: uuid.UUID
    user_id: uuid.UUID
    via: str

    @property
    def scope(self) -> TenantScope:
        """The tenant and user that the decider's queries are limited to."""
        return TenantScope(self.tenant_id, self.user_id)


async def approve(
    decider: Decider,
    request_id: uuid.UUID,
    *,
    reason: str = "",
    arguments: Any = None,
    seen: str | None = None,
) -> ApprovalRequest:
    """Approve a call as it is, or with other `arguments`; an edit voids the approvals before it for good.

    `seen` is the `params_hash` of the arguments that the approver was shown; without it they approve, or edit, what the
    model sent. Returns the request's row, still `pending` while it needs more approvals. Raises every kind of
    `approvals.errors.Refused` but NotYours.
    """

    async def decide(connection: Connection, request: ApprovalRequest, call: ToolCall) -> ApprovalEvents:
        if votes.unseen(request, seen):
            raise ArgumentsChanged
        edit = None
        if arguments is not None:
            request, edit = await edits.bind(connection, request, call, arguments)
        before = await votes.approvers(connection, request)
        counting = await votes.may_decide(connection, request, before | {decider.user_id})
        if decider.user_id not in before:
            await _record(connection, decider, request, call, "approve", reason, edit)
        elif len(counting) < request.approvals_needed:
            raise AlreadyVoted
        # Else enough approvals count only now, since somebody who had approved may decide again.
        if len(counting) < request.approvals_needed:
            return ApprovalEvents([request])
        moment = datetime.now(UTC)
        return await _end(
            connection, request, "approved", moment, max(request.expires_at, moment + GRACE), sorted(counting)
        )

    return await _decided(decider, request_id, decide)


async def deny(
    decider: Decider, request_id: uuid.UUID, *, reason: str = "", seen: str | None = None
) -> ApprovalRequest:
    """Deny a call, whatever its arguments, or only as it was `seen`; the model is told the reason.

    Raises as `approve` does.
    """

    async def decide(connection: Connection, request: ApprovalRequest, call: ToolCall) -> ApprovalEvents:
        if seen is not None and votes.unseen(request, seen):
            raise ArgumentsChanged
        moment = await _record(connection, decider, request, call, "deny", reason, None)
        said = f" The reason given: {reason}" if reason else ""
        failure = Failure(
            "approval_denied",
            f"A human denied this call of {call.tool_name}; it did not run.{said}",
            display=f"Denied by an approver.{said}",
        )
        await recorder.refuse(connection, call, failure, None)
        return await _end(connection, request, "denied", moment)

    return await _decided(decider, request_id, decide)


async def cancel(scope: TenantScope, request_id: uuid.UUID) -> ApprovalRequest:
    """Withdraw one's own request. Raises NoSuchRequest, NotYours, AlreadyDecided, Expired."""
    async with transaction(scope) as connection:
        request, call = await _locked(connection, request_id)
        if request.user_id != scope.user_id:
            raise NotYours
        ended = await _overdue(connection, request, call)
        if ended is None:
            failure = Failure(
                "cancelled",
                f"The user withdrew this call of {call.tool_name} before anybody decided; it did not run.",
                display="Withdrawn before anybody decided.",
            )
            await recorder.refuse(connection, call, failure, None)
            ended = await _end(connection, request, "cancelled", datetime.now(UTC))
    return await _answer(ended)


async def expire(scope: TenantScope, request_id: uuid.UUID) -> bool:
    """End a request whose time is over; False when it was decided meanwhile, or has time left."""
    async with transaction(scope) as connection:
        request, call = await _locked(connection, request_id)
        if request.status != "pending":
            return False
        ended = await _overdue(connection, request, call)
    if ended is not None:
        await _publish(ended)
    return ended is not None


# --- the parts of a decision -----------------------------------------------------------------------------------------
async def _decided(
    decider: Decider,
    request_id: uuid.UUID,
    decide: Callable[[Connection, ApprovalRequest, ToolCall], Awaitable[ApprovalEvents]],
) -> ApprovalRequest:
    async with transaction(decider.scope) as connection:
        request, call = await _locked(connection, request_id)
        if request.user_id == decider.user_id:
            raise OwnRequest
        if not await votes.may_decide(connection, request, [decider.user_id]):
            raise NotAnApprover
        ended = await _overdue(connection, request, call) or await decide(connection, request, call)
    return await _answer(ended)


async def _answer(ended: ApprovalEvents) -> ApprovalRequest:
    """Publish it; the request's row, unless who decided came too late. Raises Expired."""
    await _publish(ended)
    request = ended.request
    if request.status == "expired":
        raise Expired(request.expires_at.isoformat(timespec="seconds"))
    return request


async def _publish(ended: ApprovalEvents) -> None:
    moved_on = _moved_on(ended.request) if ended.request.status != "pending" else []
    await publishing.publish([events.publish(ended), *moved_on])


def _moved_on(request: ApprovalRequest) -> list[Coroutine[Any, Any, None]]:
    """What lets the call of a decided request go on: its run; without one, its approval; what was refused has ended."""
    if request.run_id is not None:
        takeover = request_takeover(request.tenant_id, request.user_id, request.run_id)
        return [wakeups.publish(request.run_id), takeover]
    if request.status == "approved":
        return [request_resumption(request.tenant_id, request.user_id, request.id)]
    return [wakeups.publish(request.call_id)]


async def _locked(connection: Connection, request_id: uuid.UUID) -> tuple[ApprovalRequest, ToolCall]:
    request = await repository.lock(connection, request_id)
    if request is None:
        raise NoSuchRequest(request_id)
    # Asked once the lock is held: what its last holder wrote is seen by a statement that begins afterwards.
    call = await reading.of_id(connection, request.call_id)
    assert call is not None
    return request, call


async def _overdue(connection: Connection, request: ApprovalRequest, call: ToolCall) -> ApprovalEvents | None:
    """Refuse what is decided; end what is overdue, and return that; None when it can be decided."""
    if request.status == "expired":
        raise Expired(request.expires_at.isoformat(timespec="seconds"))
    if request.status != "pending":
        raise AlreadyDecided(request.status)
    if datetime.now(UTC) < request.expires_at:
        return None
    failure = Failure(
        "approval_expired",
        f"Nobody decided about this call of {call.tool_name} in time; it did not run.",
        display="Nobody decided in time.",
    )
    await recorder.refuse(connection, call, failure, None)
    return await _end(connection, request, "expired", datetime.now(UTC))


async def _record(
    connection: Connection,
    decider: Decider,
    request: ApprovalRequest,
    call: ToolCall,
    verdict: str,
    reason: str,
    edit: list[edits.Change] | None,
) -> datetime:
    """Write the decision and its ledger entry; when it was made."""
    if len(reason) > MAX_REASON or _UNSTORABLE.search(reason):
        raise InvalidReason(MAX_REASON)
    moment = datetime.now(UTC)
    decision = {
        "id": uuid7(),
        "tenant_id": request.tenant_id,
        "request_id": request.id,
        "call_id": call.id,
        "user_id": decider.user_id,
        "verdict": verdict,
        "reason": reason,
        "via": decider.via,
        "params_hash": request.params_hash,
        "revision": request.revision,
        "edit": edit,
        "created_at": moment,
    }
    await connection.execute(_DECISION, decision | {"edit": edit and Jsonb(edit)})
    await recorder.decide(connection, call, decision)
    return moment


async def _end(
    connection: Connection,
    request: ApprovalRequest,
    status: Change,
    moment: datetime,
    usable_until: datetime | None = None,
    approved_by: list[uuid.UUID] | None = None,
) -> ApprovalEvents:
    # Where no run has to take note of it, only an approval is still to be used.
    used_at = moment if request.run_id is None and status != "approved" else None
    values = [status, moment, usable_until, approved_by, used_at, request.id]
    ended = await rows.one(connection, ApprovalRequest, _END, values)
    assert ended is not None
    return await events.write(connection, [ended], status)
