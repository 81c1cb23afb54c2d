"""Publishes that a call asks its user: notifications in the same commit."""

from collections.abc import Sequence

from approvals import links
from approvals.rows import AskedQuestion
from notifications import outbox
from notifications.events import Event, EventType, Words, declare
from notifications.outbox import Written
from tenants.scope.transactions import Connection

_ASKED = declare(
    EventType(
        "question.asked",
        "a call waits for an answer of its user",
        Words(
            headline="{tool} asks {user}",
            text="A call of {tool} waits for {user}, who has to answer a question.",
            link="Answer here",
            closing="Without an answer it is cancelled at {expires_at} UTC.",
        ),
    )
)


async def write(connection: Connection, questions: Sequence[AskedQuestion]) -> list[Written]:
    """Write the notifications in the transaction that asks; `publish` them after the commit."""
    return [await outbox.write(connection, _event(each)) for each in questions]


async def publish(written: Sequence[Written]) -> None:
    """Ask a worker to deliver them."""
    await outbox.send(*written)


def _event(question: AskedQuestion) -> Event:
    """What is asked is not in it: it is for its user alone."""
    payload = {
        "id": question.id,
        "status": "pending",
        "tool": question.tool_name,
        "user": {"id": question.user_id},
        "run_id": question.run_id,
        "created_at": question.created_at,
        "expires_at": question.expires_at,
        "url": links.question_path_of(question.id),
    }
    return Event(_ASKED, question.tenant_id, question.user_id, question.id, payload)
