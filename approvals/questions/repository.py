"""Questions as the worker that asks them, and whoever lets their call go on, write them.

    (new) → pending            ask        in the commit that parks the call
    pending → cancelled        withdraw   when the run ends, or the client of a call without a run cancels it
    ready: used, once          take       as the call goes on, or is refused

What the user answers, and what expires, is in `approvals.questions.answering`.
"""

import uuid
from collections.abc import Sequence
from typing import Any

from psycopg.types.json import Jsonb

from approvals.rows import AskedQuestion
from tenants.scope import rows
from tenants.scope.transactions import Connection

_COLUMNS = rows.columns(AskedQuestion)
_ASK = f"INSERT INTO questions ({_COLUMNS}) VALUES ({rows.placeholders(AskedQuestion)})"
# The whole round of a question, in order, so that answers to two of its questions wait for each other.
_LOCK = f"""
    SELECT {_COLUMNS} FROM questions WHERE (call_id, round) = (
        SELECT call_id, round FROM questions WHERE id = %s) ORDER BY position FOR UPDATE"""
_FIND = f"SELECT {_COLUMNS} FROM questions WHERE id = %s"
_OPEN = f"SELECT {_COLUMNS} FROM questions WHERE call_id = %s AND used_at IS NULL ORDER BY position"
_LAST = f"""
    SELECT {_COLUMNS} FROM questions WHERE call_id = %(call)s AND round = (
        SELECT max(round) FROM questions WHERE call_id = %(call)s) ORDER BY position"""
_TAKE = f"""
    UPDATE questions SET used_at = now() WHERE call_id = %s AND ready_at IS NOT NULL AND used_at IS NULL
    RETURNING {_COLUMNS}"""
_WITHDRAW = """
    UPDATE questions SET status = CASE status WHEN 'pending' THEN 'cancelled' ELSE status END,
        answered_at = coalesce(answered_at, now()), ready_at = coalesce(ready_at, now()), used_at = now()
    WHERE {of} = %s AND used_at IS NULL"""
_OF_RUN, _ALONE = _WITHDRAW.format(of="run_id"), _WITHDRAW.format(of="call_id")


async def ask(connection: Connection, questions: Sequence[AskedQuestion]) -> None:
    """Write questions that are asked together."""
    values = [
        rows.values(each) | {name: value and Jsonb(value) for name, value in _documents(each).items()}
        for each in questions
    ]
    async with connection.cursor() as cursor:
        await cursor.executemany(_ASK.encode(), values)


def _documents(question: AskedQuestion) -> dict[str, dict[str, Any] | None]:
    return {"schema": question.schema, "request": question.request}


async def lock(connection: Connection, question_id: uuid.UUID) -> list[AskedQuestion]:
    """The round of a question, which nobody else changes until the transaction ends; empty when there is none."""
    return await rows.every(connection, AskedQuestion, _LOCK, [question_id])


async def find(connection: Connection, question_id: uuid.UUID) -> AskedQuestion | None:
    """One question."""
    return await rows.one(connection, AskedQuestion, _FIND, [question_id])


async def open_of(connection: Connection, call_id: uuid.UUID) -> list[AskedQuestion]:
    """The round that a call waits for, in order; empty when it waits for none."""
    return await rows.every(connection, AskedQuestion, _OPEN, [call_id])


async def last_of(connection: Connection, call_id: uuid.UUID) -> list[AskedQuestion]:
    """The call's last round, in order, also one that it has gone on with."""
    return await rows.every(connection, AskedQuestion, _LAST, {"call": call_id})


async def take(connection: Connection, call_id: uuid.UUID) -> list[AskedQuestion]:
    """Use the round that a call waits for, which can be done once; empty when it is not ready, or used."""
    return await rows.every(connection, AskedQuestion, _TAKE, [call_id])


async def withdraw(connection: Connection, run_id: uuid.UUID) -> None:
    """Cancel what the run's calls ask."""
    await connection.execute(_OF_RUN.encode(), [run_id])


async def withdraw_alone(connection: Connection, call_id: uuid.UUID) -> None:
    """Cancel what one call asks."""
    await connection.execute(_ALONE.encode(), [call_id])
