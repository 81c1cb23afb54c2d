"""What the user, and time, do to questions.

    pending → answered     answer     by the call's own user: accept, decline or cancel
    pending → expired      expire     by the sweeper, or by whoever comes too late; to the call it is a cancel

Each locks the whole round, so of two answers one wins and the other is refused; an answer and its ledger entry commit
together, and with the last one the round is ready. Afterwards the run, or the call without a run, is woken up and goes
on in a worker; when nobody wakes it up, the sweeper finds it.
"""

import json
import uuid
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from psycopg.types.json import Jsonb

from approvals import publishing
from approvals.questions import repository
from approvals.questions.errors import AlreadyAnswered, InvalidAnswer, NoSuchQuestion, QuestionExpired
from approvals.rows import AskedQuestion
from audit.calls import reading, recorder
from audit.canonical import sha256_hex
from tenants.scope import rows
from tenants.scope.transactions import Connection, TenantScope, transaction
from tools.errors import ToolValidationError
from tools.invocation.dispatch import request_answered, request_takeover
from tools.invocation.live import wakeups
from tools.questions import Action
from tools.schemas import schema
from tools.schemas.arguments import parse

ACTIONS: tuple[Action, ...] = ("accept", "decline", "cancel")
# What an answer may hold, as JSON.
MAX_BYTES = 64 * 1024

_END = """
    UPDATE questions SET status = %(status)s, action = %(action)s, content = %(content)s,
        content_hash = %(content_hash)s, via = %(via)s, answered_at = %(answered_at)s
    WHERE id = %(id)s AND status = 'pending'"""
_READY = "UPDATE questions SET ready_at = %s WHERE call_id = %s AND round = %s"


@dataclass(frozen=True, slots=True)
class Given:
    """What the user does about one question."""

    action: Action
    content: dict[str, Any] | None = None


async def answer(
    scope: TenantScope, question_id: uuid.UUID, action: str, content: Any = None, *, via: str
) -> AskedQuestion:
    """Answer one's own question; its row then. `via` is api, page or mcp.

    Raises NoSuchQuestion, AlreadyAnswered, QuestionExpired, InvalidAnswer.
    """
    async with transaction(scope) as connection:
        asked = await _locked(connection, scope, question_id)
        question = next(each for each in asked if each.id == question_id)
        if question.status == "expired":
            raise QuestionExpired(question.expires_at.isoformat(timespec="seconds"))
        if question.status != "pending":
            raise AlreadyAnswered(question.status)
        expired = datetime.now(UTC) >= question.expires_at
        if expired:
            asked = await _expired(connection, asked)
        else:
            given = checked(question, action, content)
            asked = await _ended(connection, asked, [replace(question, via=via, status="answered")], given)
    await _publish(asked)
    if expired:
        raise QuestionExpired(question.expires_at.isoformat(timespec="seconds"))
    return next(each for each in asked if each.id == question_id)


async def look(scope: TenantScope, question_id: uuid.UUID) -> AskedQuestion:
    """One's own question as it is. Raises NoSuchQuestion."""
    async with transaction(scope) as connection:
        question = await repository.find(connection, question_id)
    if question is None or question.user_id != scope.user_id:
        raise NoSuchQuestion(question_id)
    return question


async def expire(scope: TenantScope, question_id: uuid.UUID) -> bool:
    """End the round of a question whose time is over; False when it was answered meanwhile, or has time left."""
    async with transaction(scope) as connection:
        asked = await _locked(connection, scope, question_id)
        overdue = [each for each in asked if each.status == "pending" and each.expires_at <= datetime.now(UTC)]
        if not overdue:
            return False
        asked = await _expired(connection, asked)
    await _publish(asked)
    return True


def checked(question: AskedQuestion, action: str, content: Any) -> Given:
    """What was said, if it answers the question. Raises InvalidAnswer."""
    if action not in ACTIONS:
        raise InvalidAnswer(f"action must be one of {', '.join(ACTIONS)}.", "action")
    if action != "accept" or question.url is not None:
        if content is not None:
            why = "only what is accepted has content" if action != "accept" else "a page is visited, without content"
            raise InvalidAnswer(f"content must be left out: {why}.", "content")
        return Given(action)
    try:
        # As strictly as a model's arguments.
        read = parse(json.dumps(content))
    except ToolValidationError as error:
        raise InvalidAnswer(error.message.replace("The arguments", "content"), _field(error.field)) from None
    if len(json.dumps(read)) > MAX_BYTES:
        raise InvalidAnswer(f"content may have up to {MAX_BYTES:,} bytes.", "content")
    violation = None if question.schema is None else schema.check(question.schema, read)
    if violation is not None:
        raise InvalidAnswer(violation.message, _field(violation.field))
    return Given(action, read)


def _field(name: str | None) -> str:
    return f"content.{name}" if name else "content"


async def _locked(connection: Connection, scope: TenantScope, question_id: uuid.UUID) -> list[AskedQuestion]:
    asked = await repository.lock(connection, question_id)
    if not asked or asked[0].user_id != scope.user_id:
        raise NoSuchQuestion(question_id)
    return asked


async def _expired(connection: Connection, asked: list[AskedQuestion]) -> list[AskedQuestion]:
    overdue = [replace(each, status="expired") for each in asked if each.status == "pending"]
    return await _ended(connection, asked, overdue, Given("cancel"))


async def _ended(
    connection: Connection, asked: list[AskedQuestion], ended: list[AskedQuestion], given: Given
) -> list[AskedQuestion]:
    """Write what becomes of some questions of a round, which have their new status; the round as it is then."""
    now = datetime.now(UTC)
    call = await reading.of_id(connection, asked[0].call_id)
    assert call is not None, "a call stays as long as its questions"
    content_hash = None if given.content is None else sha256_hex(given.content)
    done: dict[uuid.UUID, AskedQuestion] = {}
    for each in ended:
        done[each.id] = replace(
            each, action=given.action, content=given.content, content_hash=content_hash, answered_at=now
        )
        values = rows.values(done[each.id])
        content = None if given.content is None else Jsonb(given.content)
        await connection.execute(_END, values | {"content": content})
        await recorder.answered(connection, call, values)
    asked = [done.get(each.id, each) for each in asked]
    if all(each.status != "pending" for each in asked):
        await connection.execute(_READY, [now, call.id, asked[0].round])
        asked = [replace(each, ready_at=now) for each in asked]
    return asked


async def _publish(asked: list[AskedQuestion]) -> None:
    """Let the call go on, once its round is ready."""
    first = asked[0]
    moved_on = [wakeups.publish(first.run_id or first.call_id)]
    if first.ready_at is not None:
        again = request_answered if first.run_id is None else request_takeover
        moved_on.append(again(first.tenant_id, first.user_id, first.run_id or first.call_id))
    await publishing.publish(moved_on)
