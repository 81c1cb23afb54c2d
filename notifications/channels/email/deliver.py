"""Approvals told to those who may decide, by e-mail: that something waits, and where; never what is in it."""

from datetime import UTC
from typing import Any

from django.core.mail import EmailMessage

from approvals.notifications.errors import GivenUp, Undelivered
from approvals.notifications.links import page_of
from tools.errors import ToolError, ToolValidationError
from tools.network import mail

SECONDS = 20.0
_TEXT = """\
{user} asks for a call of {tool} ({tier}), which needs a human's approval.

Decide here: {url}

Without a decision it expires at {expires:%Y-%m-%d %H:%M} UTC.
"""


async def deliver(notice: dict[str, Any]) -> None:
    """Send a notice to its person, while they may decide and there is something to decide. Raises Undelivered."""
    if not notice["email"]:
        raise GivenUp("The person decides no longer, or has no address.")
    if notice["request_status"] != "pending":
        raise GivenUp("The request was over before it could be sent.")
    user, tool = _line(notice["requester"] or "Somebody who has left"), _line(notice["tool_name"])
    message = EmailMessage(
        f"Approval needed: {tool} for {user}",
        _TEXT.format(
            user=user,
            tool=tool,
            tier=notice["tier"],
            url=page_of(notice["request_id"]),
            expires=notice["expires_at"].astimezone(UTC),
        ),
        to=[notice["email"]],
        headers={"Message-ID": mail.message_id(notice["id"]), "Auto-Submitted": "auto-generated"},
    )
    try:
        await mail.send(message, SECONDS)
    except ToolValidationError as refused:
        raise GivenUp(refused.message) from None
    except ToolError as failed:
        raise Undelivered(failed.message) from None


def _line(text: str) -> str:
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())
