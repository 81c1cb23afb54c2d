"""The approver's socket, `/ws/approvals/`: tells what changes in a tenant's queue, and takes verdicts.

    ← {"type": "ready", "pending": n}                      when it begins; again where it comes to listen later
    ← {"type": "approval", "approval": {…}}                when a request is new or decided
    → {"type": "approve" | "deny", "id", "reason"?, "seen"?, "arguments"?, "ref"?}
    ← {"type": "decided", "ref", "approval": {…}}
    ← {"type": "refused", "ref", "id", "status", "code", "detail", "field"?, "approval"?}

Whoever may no longer read approvals is told nothing more: the socket closes with 4403.
"""

import uuid
from typing import Any

from approvals import live
from approvals.errors import Conflict, NoSuchRequest, NotAnApprover
from approvals.requests import decisions, parsing, queue
from approvals.requests.decisions import Decider
from approvals.web.live_socket import AWAY, DATABASE_AWAY, FORBIDDEN, LiveConsumer, NoLongerAllowed, in_thread
from tenants.errors import Refused
from tenants.people.principal import Principal


class ApprovalsConsumer(LiveConsumer):
    """One socket of the queue. Frames are answered one after the other; what changes is told by a task beside them."""

    scope_needed = "approvals:read"

    def group(self, principal: Principal) -> str:
        """The tenant's queue."""
        return live.group(principal.tenant_id)

    def ready(self, principal: Principal) -> dict[str, Any]:
        """How many requests wait."""
        return {"type": "ready", "pending": queue.waiting(principal)}

    def change(self, principal: Principal, changed_id: uuid.UUID) -> dict[str, Any] | None:
        """A request that is new or decided."""
        approval = queue.look(principal, changed_id)
        return None if approval is None else {"type": "approval", "approval": approval}

    # --- verdicts ----------------------------------------------------------------------------------------------------
    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Answer a frame: decided, or refused."""
        answer: dict[str, Any] = {"type": "refused", "ref": None, "id": None}
        try:
            if text_data is None:
                raise Refused("A frame must be JSON text.")
            given = parsing.read(text_data)
            answer["ref"] = parsing.ref(given)
            verdict, answer["id"] = parsing.address(given)
            said = parsing.said(given, verdict, beside=parsing.ADDRESS)
            approval = await self._decide(verdict, answer["id"], said)
            await self.say({"type": "decided", "ref": answer["ref"], "approval": approval})
        except NoLongerAllowed:
            await self.end(FORBIDDEN)
        except Refused as refusal:
            why = {"status": refusal.status, "code": refusal.code, "detail": refusal.detail}
            await self.say(answer | why | ({"field": refusal.field} if refusal.field else {}) | refusal.more)
        except DATABASE_AWAY:
            await self.say(answer | {name: AWAY[name] for name in ("status", "code", "detail")})

    async def _decide(self, verdict: str, request_id: uuid.UUID, said: parsing.Said) -> dict[str, Any]:
        principal = await in_thread(self.now)
        if "approvals:decide" not in principal.scopes:
            raise NotAnApprover
        decider = Decider(principal.tenant_id, principal.user_id, "socket")
        try:
            if verdict == "approve":
                await decisions.approve(
                    decider, request_id, reason=said.reason, arguments=said.arguments, seen=said.seen
                )
            else:
                await decisions.deny(decider, request_id, reason=said.reason, seen=said.seen)
        except Conflict as refusal:
            refusal.more = {"approval": await in_thread(queue.look, principal, request_id)}
            raise
        approval: dict[str, Any] | None = await in_thread(queue.look, principal, request_id)
        if approval is None:
            raise NoSuchRequest(request_id)
        return approval
