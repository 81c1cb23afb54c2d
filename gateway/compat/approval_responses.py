"""A client's answers to approval requests, applied before its run begins, so that the previous answer is complete.

Nobody approves a call in their own name: a yes of the one who asked means "go on" and is refused while nobody has
decided, and a no withdraws the request. An approver's yes and no are decisions like those in the queue.

Refused                     the answer's HTTP status, code and words
├── Undecided               403 own_request
├── NeedsScope              403 forbidden
├── Unseen                  422 arguments_changed
└── StillRunning            503 response_in_progress
"""

import asyncio
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime

from asgiref.sync import sync_to_async

from approvals.errors import AlreadyDecided, AlreadyVoted, ArgumentsChanged, Expired, NoSuchRequest
from approvals.links import page_of
from approvals.requests import decisions, queue, repository, votes
from approvals.requests.decisions import Decider
from approvals.rows import ApprovalRequest
from gateway.runs.errors import NoSuchRun
from gateway.runs.lifecycle import following
from gateway.runs.prompting.client_request import ClientRequest
from gateway.runs.view import RunView
from tenants.errors import Refused
from tenants.people.principal import Principal
from tenants.scope.transactions import TenantScope, transaction

PATIENCE_SECONDS = 30.0


class Undecided(Refused):
    """The requester says yes, and somebody else must."""

    status = 403
    code = "own_request"

    def __init__(self, request: ApprovalRequest):
        super().__init__(
            f"{request.tool_name} was asked for in your own name, so it is not yours to approve: an approver or an "
            f"owner of your tenant decides about approval {request.id} (at {page_of(request.id)}). Nothing has run. "
            "Say the same again once it is decided, or answer with approve: false to withdraw it.",
            "input",
        )


class NeedsScope(Refused):
    """The key may see approval requests and not decide about them."""

    status = 403
    code = "forbidden"

    def __init__(self) -> None:
        super().__init__("This needs the scope approvals:decide.", "input")


class Unseen(Refused):
    """The arguments are not those that the approver has seen; 409 would make an SDK send the same again by itself."""

    status = 422
    code = ArgumentsChanged.code

    def __init__(self) -> None:
        super().__init__(ArgumentsChanged().detail, "input")


class StillRunning(Refused):
    """The previous answer did not settle in time."""

    status = 503
    code = "response_in_progress"
    retry_after = 2

    def __init__(self) -> None:
        super().__init__("The response that you go on from is still being made. Ask again in a few seconds.")


async def act(principal: Principal, request: ClientRequest) -> None:
    """Do what the client says, and return once the answers that it goes on from are at rest.

    Raises NoSuchRequest, Undecided, NeedsScope, Unseen, StillRunning, and what `decisions.approve` and `deny` raise;
    when more than one is answered, nothing is done if any of them must be refused from the start.
    """
    scope = TenantScope(principal.tenant_id, principal.user_id)
    found = await _found(principal, scope, request.approvals)
    for asked in found:
        yes, _, seen = request.approvals[asked.id.hex]
        if asked.status != "pending" or asked.expires_at <= datetime.now(UTC):
            continue
        if asked.user_id == scope.user_id:
            if yes:
                raise Undecided(asked)
        elif votes.unseen(asked, seen) if yes else seen not in (None, asked.params_hash):
            raise await _unseen(principal, asked.id)
    settled = {asked.id for asked in found if await _done(principal, scope, asked, *request.approvals[asked.id.hex])}
    awaited = {asked.run_id for asked in found if asked.user_id == scope.user_id and asked.run_id is not None}
    if request.previous is not None:
        awaited.add(uuid.UUID(request.previous))
    if not awaited:
        return
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            for run_id in awaited:
                await _at_rest(scope, run_id, settled)
    except TimeoutError:
        raise StillRunning from None


async def _found(principal: Principal, scope: TenantScope, approvals: Iterable[str]) -> list[ApprovalRequest]:
    """The requests that are answered, each one that the caller may answer so."""
    wanted = {approval_id: uuid.UUID(approval_id) for approval_id in approvals}
    if not wanted:
        return []
    async with transaction(scope) as connection:
        found = await repository.find(connection, wanted.values())
    visible = [request for request in found if request.user_id == scope.user_id or "approvals:read" in principal.scopes]
    if missing := set(wanted.values()) - {request.id for request in visible}:
        raise NoSuchRequest(min(missing))
    for request in visible:
        if request.user_id != scope.user_id and "approvals:decide" not in principal.scopes:
            raise NeedsScope
    return visible


async def _unseen(principal: Principal, request_id: uuid.UUID) -> Unseen:
    """The refusal, with the request as it is now."""
    refusal = Unseen()
    refusal.more = {"approval": await sync_to_async(queue.look)(principal, request_id)}
    return refusal


async def _done(
    principal: Principal, scope: TenantScope, request: ApprovalRequest, yes: bool, reason: str, seen: str | None
) -> bool:
    """Do what was said to one request; whether its call is not waiting for anybody any more."""
    if request.status != "pending":
        return True
    if request.expires_at <= datetime.now(UTC):
        await decisions.expire(scope, request.id)
        return True
    try:
        if request.user_id != scope.user_id:
            decide = decisions.approve if yes else decisions.deny
            decider = Decider(principal.tenant_id, principal.user_id, "api")
            return bool((await decide(decider, request.id, reason=reason, seen=seen)).status != "pending")
        await decisions.cancel(scope, request.id)
    except AlreadyVoted:
        return False
    except ArgumentsChanged:
        raise await _unseen(principal, request.id) from None
    except (AlreadyDecided, Expired):
        # Somebody was faster; the model gets the outcome.
        pass
    return True


async def _at_rest(scope: TenantScope, run_id: uuid.UUID, settled: set[uuid.UUID]) -> None:
    """Return when the run is over, or waits for nothing but decisions that are still to come."""
    try:
        view = await following.look(scope, run_id)
    except NoSuchRun:
        # The reader of the transcript reports that.
        return
    if _rests(view, settled):
        return
    async with following.watching(scope, view) as changed:
        while not _rests(view, settled):
            await changed.wait()
            changed.clear()


def _rests(view: RunView, settled: set[uuid.UUID]) -> bool:
    if not view.suspended:
        return view.final
    calls = (call for turn in view.turns for call in turn.calls)
    return all(call.final for call in calls if call.approval_id in settled)
