"""send_email: an e-mail to one person, over the mail server that the operator configured."""

from typing import Any, ClassVar

from django.core.mail import EmailMessage
from django.core.mail.message import sanitize_address

from tools.errors import ToolValidationError
from tools.interface import Artifact, Tier, Tool, ToolContext, ToolResult
from tools.labels import Label
from tools.network import mail

# Of the call's time, so that it is our words that say whether the e-mail may have been sent.
_SPARE_SECONDS = 0.5


class SendEmail(Tool):
    """Send an e-mail in plain text; what has left cannot be taken back, so a human approves each."""

    name = "send_email"
    description = (
        "Send an e-mail in plain text to one recipient. A human has to approve it first. Returns the Message-ID."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "to": {
                "type": "string",
                "description": "The recipient's address, without a name.",
                "format": "email",
                "pattern": mail.ADDRESS,
                "maxLength": mail.MAX_ADDRESS,
            },
            "subject": {
                "type": "string",
                "description": "The subject, one line.",
                "minLength": 1,
                "maxLength": 500,
                "pattern": r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]+$",
            },
            "body": {"type": "string", "description": "The text.", "maxLength": 100_000},
        },
        "required": ["to", "subject", "body"],
        "additionalProperties": False,
    }
    tier = Tier.ELEVATED
    labels = frozenset({Label.LEAVES_TENANT})
    destinations = ("to",)
    rate = "30/m"

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output: `{"message_id", "to"}`. Raises ToolValidationError, ToolTimeout or ToolExecutionError."""
        to: str = params["to"]
        if _as_sent(to) != to:
            raise ToolValidationError("Mail software would not send to this address as it is written.", "to")
        message_id = mail.message_id(ctx.call_id)
        message = EmailMessage(params["subject"], params["body"], to=[to], headers={"Message-ID": message_id})
        await mail.send(message, max(0.0, ctx.seconds - _SPARE_SECONDS))
        return ToolResult(
            {"message_id": message_id, "to": to}, f"E-mail sent to {to}", (Artifact("email", message_id, "sent"),)
        )


def _as_sent(address: str) -> str:
    try:
        return sanitize_address(address, "utf-8")
    except ValueError:
        return ""
