"""Sends an e-mail to one address."""

from django.core.mail import EmailMessage

from notifications.channels.email.words import text
from notifications.channels.interface import Message
from notifications.errors import GivenUp, Undelivered
from tools.errors import ToolError, ToolValidationError
from tools.network import mail

SECONDS = 20.0


async def deliver(message: Message) -> None:
    """Send the message to its address. Raises Undelivered, and GivenUp when the server does not take the address."""
    email = EmailMessage(
        message.words.headline,
        text(message.words, message.payload["url"]),
        to=[message.destination],
        headers={"Message-ID": mail.message_id(message.id), "Auto-Submitted": "auto-generated"},
    )
    for file in message.files:
        email.attach(file.name, file.body, file.media_type)
    try:
        await mail.send(email, SECONDS)
    except ToolValidationError as refused:
        raise GivenUp(refused.message) from None
    except ToolError as failed:
        raise Undelivered(failed.message) from None
