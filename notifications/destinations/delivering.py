"""What the outbox delivers of a person's message, and where to; and what became of it, which its person sees."""

from typing import Any

from django.conf import settings

from notifications import media
from notifications.channels.interface import Message
from notifications.errors import GivenUp, TargetGone, Undelivered
from notifications.events import Words
from notifications.media import File
from tenants.people.encryption import Undecipherable, decrypt
from tenants.scope.transactions import Connection

SENT_PATH = "/inbox/sent/"

_READ = """
    SELECT s.kind, s.text, s.operation, s.media, s.recipient, s.channel, s.status, u.username, d.destination, d.secret,
        s.destination_id IS NULL OR d.removed_at IS NULL AND d.verified_at IS NOT NULL AS open,
        m.user_id IS NOT NULL AND u.is_active AS is_member
    FROM sent_messages s
    LEFT JOIN destinations d ON d.tenant_id = s.tenant_id AND d.id = s.destination_id
    LEFT JOIN memberships m ON m.tenant_id = s.tenant_id AND m.user_id = s.user_id
    LEFT JOIN users u ON u.id = s.user_id
    WHERE s.id = %s"""
_SETTLE = """
    UPDATE sent_messages SET status = %(status)s, problem = %(problem)s,
        finished_at = CASE WHEN %(status)s <> 'waiting' THEN now() END
    WHERE id = %(id)s AND status = 'waiting' RETURNING recipient, kind"""
_SWITCH_OFF = """
    UPDATE destinations SET verified_at = NULL, disabled_because = %s
    WHERE id = %s AND removed_at IS NULL AND verified_at IS NOT NULL"""


async def message(connection: Connection, row: dict[str, Any]) -> Message:
    """The message of a row of the outbox, in a transaction of its person. Raises Undelivered or GivenUp."""
    sent = await (await connection.execute(_READ, [row["message_id"]])).fetchone()
    if sent is None or sent["status"] != "waiting":
        raise GivenUp("It was deleted before it could be delivered.")
    if not sent["is_member"]:
        raise GivenUp("Whose message it is is no member any more.")
    if not sent["open"]:
        raise GivenUp("The destination was removed, or has to be verified again.")
    try:
        secret = decrypt(sent["secret"]) if sent["secret"] else ""
    except Undecipherable:
        raise Undelivered("The destination's secret cannot be decrypted with TOOLGATE_ENCRYPTION_KEYS.") from None
    operation = sent["operation"] or {}
    payload = {
        "id": str(row["message_id"]),
        "text": sent["text"],
        "to": sent["recipient"],
        "data": operation.get("data"),
        "thread": operation.get("thread"),
        "user": {"id": str(row["user_id"]), "username": sent["username"]},
        "url": f"{settings.PUBLIC_URL}{SENT_PATH}",
        "media": media.shown(sent["media"]),
    }
    # Bytes go into an e-mail alone; the others are told where its person finds them.
    files = await media.contents(connection, sent["media"]) if sent["channel"] == "email" else []
    destination = sent["destination"] if sent["destination"] is not None else sent["recipient"]
    return Message(
        row["id"], row["event"], row["created_at"], payload, _words(sent, files), destination, secret, tuple(files)
    )


async def settle(
    connection: Connection, row: dict[str, Any], status: str, problem: Undelivered | None
) -> dict[str, Any] | None:
    """Say how far the message is, in a transaction of its person; its recipient and kind, unless that was known."""
    values = {"id": row["message_id"], "status": status, "problem": str(problem or "")}
    if isinstance(problem, TargetGone) and row["destination_id"] is not None:
        await connection.execute(_SWITCH_OFF, [str(problem), row["destination_id"]])
    return await (await connection.execute(_SETTLE, values)).fetchone()


def _words(sent: dict[str, Any], files: list[File]) -> Words:
    who, text = sent["username"], sent["text"]
    if sent["channel"] == "slack":
        text = "\n".join([text, *media.lines(sent["media"])])
    elif sent["channel"] == "email" and len(files) < len(sent["media"]):
        text = f"{text}\n\nFiles that were to go along have been deleted before it was sent."
    if sent["kind"] == "reminder":
        return Words("Reminder", text, "Open your messages in Toolgate")
    if sent["destination"] is None:
        closing = f"A model wrote this for {who}, and it was approved before it was sent."
        return Words(f"A message in the name of {who}", text, "Where it came from", closing)
    return Words("A message from Toolgate", text, "Where it came from", f"A model wrote this for {who}.")
