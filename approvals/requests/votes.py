"""Which approvals count: those of the arguments as they are, by people who may decide at this moment."""

import uuid
from collections.abc import Collection

from approvals.rows import ApprovalRequest
from tenants.people.principal import DECIDERS
from tenants.scope.transactions import Connection

_MAY_DECIDE = "SELECT lock_deciders(%s, %s, %s) AS user_id"
_APPROVED = """
    SELECT user_id FROM approval_decisions
    WHERE tenant_id = %s AND request_id = %s AND verdict = 'approve' AND revision = %s"""


def unseen(request: ApprovalRequest, seen: str | None) -> bool:
    """Whether the request's arguments may be others than the approver has seen.

    `seen` is the `params_hash` that they were shown. Who says nothing has seen what the model sent, so any edit is
    unseen then, also one that was taken back.
    """
    return request.revision != 1 if seen is None else seen != request.params_hash


async def may_decide(
    connection: Connection, request: ApprovalRequest, user_ids: Collection[uuid.UUID]
) -> set[uuid.UUID]:
    """Those of the users who may decide about the request now, and until the transaction ends.

    A change of role, membership or account that is under way is waited for; one that comes later waits for us.
    """
    others = [user_id for user_id in user_ids if user_id != request.user_id]
    if not others:
        return set()
    asked = await connection.execute(_MAY_DECIDE, [request.tenant_id, others, DECIDERS])
    return {row["user_id"] for row in await asked.fetchall()}


async def approvers(connection: Connection, request: ApprovalRequest) -> set[uuid.UUID]:
    """Everybody who approved the arguments as they are, whether it counts or not; ask with the request locked."""
    asked = await connection.execute(_APPROVED, [request.tenant_id, request.id, request.revision])
    return {row["user_id"] for row in await asked.fetchall()}
