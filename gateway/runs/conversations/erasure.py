"""Erasing on request: a call's payload, a conversation, or all of a user's, with every copy of it that Toolgate keeps.

    call           the payload of one call, which must be final
    conversation   the payloads of its calls, and the conversation with its messages, runs and turns
    user           the payloads of all the user's calls, all their conversations and schedules, and what tools keep for
                   them

Of a call's approval the words go with the payload, and of its run the words that quote it. Calls, approvals and ledger
entries stay. A conversation whose run is open is refused, and so is its user: nothing is taken away from under a run.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from approvals.questions import erasure as questions
from approvals.requests import erasure as approvals
from audit.calls import reading
from audit.retention import erasure
from audit.retention.erasure import Cause, Scope
from gateway.runs.errors import ConversationBusy, InvalidRequest, NoSuchSubject, NotAnEraser, StillOpen
from notifications.destinations import sending
from notifications.inbox import erasure as inbox
from tenants.people.principal import Principal
from tenants.scope import transactions
from tenants.scope.transactions import Connection, transaction
from tools.invocation.once import idempotency
from tools.stores import erasure as stored

Row = dict[str, Any]

MAX_REASON = 2000
# Conversations in one transaction.
CONVERSATIONS = 50

_OF_CALL = "SELECT user_id FROM tool_calls WHERE id = %(id)s"
_OF_CONVERSATION = """
    SELECT user_id FROM conversations WHERE id = %(id)s
    UNION ALL SELECT user_id FROM runs WHERE tenant_id = %(tenant_id)s AND conversation_id = %(id)s
    UNION ALL SELECT user_id FROM tool_calls WHERE tenant_id = %(tenant_id)s AND conversation_id = %(id)s
    LIMIT 1"""
_OF_USER = """
    SELECT %(id)s::uuid AS user_id WHERE EXISTS (SELECT FROM memberships WHERE user_id = %(id)s)
        OR EXISTS (SELECT FROM tool_calls WHERE tenant_id = %(tenant_id)s AND user_id = %(id)s)
        OR EXISTS (SELECT FROM runs WHERE tenant_id = %(tenant_id)s AND user_id = %(id)s)"""
_SUBJECTS = {Scope.CALL: _OF_CALL, Scope.CONVERSATION: _OF_CONVERSATION, Scope.USER: _OF_USER}
_OPEN = """
    SELECT id FROM runs
    WHERE tenant_id = %s AND user_id = %s AND status IN ('in_progress', 'waiting', 'requires_action')
        AND conversation_id = ANY(%s) ORDER BY id"""
_OPEN_OF_USER = """
    SELECT id FROM runs
    WHERE tenant_id = %s AND user_id = %s AND status IN ('in_progress', 'waiting', 'requires_action')
    ORDER BY id"""
# A run begins with a row that refers to its conversation, and so waits for this lock.
_LOCK = """
    SELECT id FROM conversations WHERE user_id = %(user_id)s AND (%(ids)s::uuid[] IS NULL OR id = ANY(%(ids)s))
    ORDER BY id LIMIT %(limit)s FOR UPDATE"""
# With those of the runs that its runs began.
_WITH_WORKERS = """
    WITH RECURSIVE found AS (
        SELECT c.id FROM conversations c WHERE c.id = %s AND c.user_id = %s
        UNION SELECT c.id FROM conversations c JOIN found ON c.parent_id = found.id WHERE c.kind = 'worker')
    SELECT id FROM found"""
_DELETE = "DELETE FROM conversations WHERE id = ANY(%s)"
# Their slots go with them.
_DELETE_SCHEDULES = """
    WITH gone AS (DELETE FROM schedules WHERE tenant_id = %s AND user_id = %s RETURNING 1)
    SELECT count(*) AS count FROM gone"""
# A run that was ended because a call of its was refused says so in the refusal's words.
_HUSH = """
    WITH refused AS MATERIALIZED (
        SELECT run_id, error_code FROM tool_calls
        WHERE tenant_id = %(tenant_id)s AND id = ANY(%(ids)s) AND error_code IS NOT NULL)
    UPDATE runs r SET error_message = 'Erased.' FROM refused
    WHERE r.tenant_id = %(tenant_id)s AND r.id = refused.run_id AND r.status = 'cancelled'
        AND r.error_code = refused.error_code"""


@dataclass(slots=True)
class Erased:
    """What an erasure did: the rows of `erasures` that it wrote, and how many calls and conversations it was about."""

    scope: str
    subject_id: uuid.UUID
    reason: str
    ids: list[uuid.UUID] = field(default_factory=list)
    calls: int = 0
    conversations: int = 0
    # Notes, tasks, files, memories, schedules, and what is in the inbox.
    stored: int = 0

    def note(self, row: Row | None) -> None:
        """Count a batch."""
        if row is not None:
            self.ids.append(row["id"])
            self.calls += row["calls"]


async def copies(connection: Connection, tenant_id: uuid.UUID, call_ids: list[uuid.UUID]) -> None:
    """Erase what is said of calls elsewhere: with their approvals, and where a run ended in their words."""
    await approvals.erase(connection, tenant_id, call_ids)
    await questions.erase(connection, tenant_id, call_ids)
    await idempotency.erase(connection, call_ids)
    await sending.erase(connection, call_ids)
    await connection.execute(_HUSH, {"tenant_id": tenant_id, "ids": call_ids})


async def ask(principal: Principal, scope: str, subject_id: uuid.UUID, reason: str = "") -> Erased:
    """Erase in somebody's name: owners anybody's in their tenant, everyone what was done in their own name.

    Raises NoSuchSubject, NotAnEraser, InvalidRequest, StillOpen, ConversationBusy.
    """
    check_reason(reason)
    user_id = await whose(principal.tenant_id, principal.user_id, scope, subject_id)
    if user_id != principal.user_id:
        if user_id is None or not principal.sees_whole_history:
            raise NoSuchSubject(scope, subject_id)
        if "admin" not in principal.scopes:
            raise NotAnEraser
    cause = Cause(principal.tenant_id, Scope(scope), subject_id, principal.user_id, reason)
    return await erase(cause, user_id)


def check_reason(reason: str) -> None:
    """Raise InvalidRequest for a reason that cannot be kept."""
    if len(reason) > MAX_REASON or not reason.replace("\n", "").isprintable():
        raise InvalidRequest(f"reason may have up to {MAX_REASON:,} characters, and no control characters.", "reason")


async def whose(tenant_id: uuid.UUID, asker_id: uuid.UUID, scope: str, subject_id: uuid.UUID) -> uuid.UUID | None:
    """In whose name the call or conversation was, or the user themself; None when the tenant has no such thing."""
    async with transaction(transactions.TenantScope(tenant_id, asker_id)) as connection:
        values = {"id": subject_id, "tenant_id": tenant_id}
        row = await (await connection.execute(_SUBJECTS[Scope(scope)], values)).fetchone()
    return row["user_id"] if row else None


async def erase(cause: Cause, user_id: uuid.UUID) -> Erased:
    """Erase what is this user's, a batch a transaction; what is erased already is left. Raises StillOpen,
    ConversationBusy."""
    assert cause.subject_id is not None
    done = Erased(cause.scope, cause.subject_id, cause.reason)
    tenant_scope = transactions.TenantScope(cause.tenant_id, user_id)
    if cause.scope == Scope.CALL:
        async with transaction(tenant_scope) as connection:
            batch = await erasure.following(connection, cause)
            if batch.open:
                raise StillOpen(
                    "This call is not final yet; wait for its end, cancel its run, or withdraw its approval request."
                )
            done.note(await erasure.erase(connection, cause, batch.final, copies))
        return done
    whole = cause.scope == Scope.USER
    async with transaction(tenant_scope) as connection:
        conversation_ids = None if whole else await with_workers(connection, cause.subject_id, user_id)
        await _refuse_open(connection, cause, user_id, conversation_ids)
        if whole:
            # First of all, so that none of them begins another run.
            done.stored += await _delete_schedules(connection, cause.tenant_id, user_id)
    after: uuid.UUID | None = erasure.FIRST
    while after is not None:
        async with transaction(tenant_scope) as connection:
            batch = await erasure.following(connection, cause, after=after, conversation_ids=conversation_ids)
            done.note(await erasure.erase(connection, cause, batch.final, copies))
        after = batch.last
    while await _delete_conversations(cause, user_id, conversation_ids, done):
        pass
    if whole:
        async with transaction(tenant_scope) as connection:
            done.stored += await stored.erase_user(connection, cause.tenant_id, user_id)
            done.stored += await inbox.erase_user(connection, cause.tenant_id, user_id)
            if done.stored and not done.ids:
                done.note(await erasure.erase(connection, cause, [], copies, always=True))
    return done


async def with_workers(connection: Connection, conversation_id: uuid.UUID, user_id: uuid.UUID) -> list[uuid.UUID]:
    """A conversation of the user's, and those of the runs that its runs began."""
    found = await (await connection.execute(_WITH_WORKERS, [conversation_id, user_id])).fetchall()
    # One that was deleted has calls that were not.
    return [row["id"] for row in found] or [conversation_id]


async def delete(scope: transactions.TenantScope, conversation_id: uuid.UUID) -> None:
    """Delete a conversation of the user's, and those of the runs that its runs began; their calls stay on record.

    Raises ConversationBusy.
    """
    async with transaction(scope) as connection:
        ids = await with_workers(connection, conversation_id, scope.user_id)
        await connection.execute(_LOCK, {"user_id": scope.user_id, "ids": ids, "limit": len(ids)})
        if await (await connection.execute(_OPEN, [*scope, ids])).fetchone() is not None:
            raise ConversationBusy
        await connection.execute(_DELETE, [ids])


async def _delete_schedules(connection: Connection, tenant_id: uuid.UUID, user_id: uuid.UUID) -> int:
    row = await (await connection.execute(_DELETE_SCHEDULES, [tenant_id, user_id])).fetchone()
    return int(row["count"]) if row else 0


async def _delete_conversations(
    cause: Cause, user_id: uuid.UUID, conversation_ids: Sequence[uuid.UUID] | None, done: Erased
) -> bool:
    """Delete the next conversations, and erase what calls they have got meanwhile; False when there are none."""
    async with transaction(transactions.TenantScope(cause.tenant_id, user_id)) as connection:
        values = {"user_id": user_id, "ids": conversation_ids, "limit": CONVERSATIONS}
        ids = [row["id"] for row in await (await connection.execute(_LOCK, values)).fetchall()]
        if not ids:
            return False
        await _refuse_open(connection, cause, user_id, ids)
        late = await erasure.following(connection, cause, conversation_ids=ids, limit=None)
        first = not done.ids
        done.note(await erasure.erase(connection, cause, late.final, copies, always=first))
        await connection.execute(_DELETE, [ids])
    done.conversations += len(ids)
    return True


async def _refuse_open(
    connection: Connection, cause: Cause, user_id: uuid.UUID, conversation_ids: Sequence[uuid.UUID] | None
) -> None:
    if conversation_ids is None:
        found = await connection.execute(_OPEN_OF_USER, [cause.tenant_id, user_id])
    else:
        found = await connection.execute(_OPEN, [cause.tenant_id, user_id, list(conversation_ids)])
    runs = [str(row["id"]) for row in await found.fetchall()]
    if runs and cause.scope == Scope.CONVERSATION:
        raise ConversationBusy
    if runs:
        more = f" and {len(runs) - 20} more" if len(runs) > 20 else ""
        raise StillOpen(
            f"Runs of this user are still open: {', '.join(runs[:20])}{more}. Wait for their end; a run that waits for "
            "an approval ends once it is denied."
        )
    alone = await reading.open_alone(connection, cause.tenant_id, user_id) if conversation_ids is None else []
    if alone:
        more = f" and {len(alone) - 20} more" if len(alone) > 20 else ""
        raise StillOpen(
            f"Calls of this user are not final yet: {', '.join(map(str, alone[:20]))}{more}. Wait for their end; a "
            "call that waits for an approval ends once it is denied or withdrawn."
        )
