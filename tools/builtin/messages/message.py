"""message: words to the user themself, to a destination that they verified, or to an address."""

from collections.abc import Mapping
from typing import Any, ClassVar

from tools.interface import Artifact, CallFacts, Tier, Tool, ToolContext, ToolResult, held
from tools.labels import Label
from tools.stores import folded

INBOX = "inbox"
MAX_TEXT = 8000


class Message(Tool):
    """Send a message; to whom nobody has verified only with a human's approval."""

    name = "message"
    description = (
        'Send a message. "to" is "inbox" (the user\'s inbox in Toolgate), the name of a destination that the user has '
        "verified (an e-mail address, a Slack channel or a webhook), or any other e-mail address, which a human has to "
        "approve first. A message that was accepted is delivered a moment later."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "to": {
                "type": "string",
                "description": 'Where to: "inbox", a destination\'s name, or an e-mail address.',
                "minLength": 1,
                "maxLength": 254,
            },
            "text": {
                "type": "string",
                "description": "The message, as plain text.",
                "minLength": 1,
                "maxLength": MAX_TEXT,
            },
            "operation": {
                "type": "object",
                "description": (
                    "What only some channels can do. Slack: reply to the message with the time stamp in thread. "
                    "Webhook: data beside the text, any JSON object."
                ),
                "properties": {
                    "type": {"type": "string", "enum": ["reply", "react", "data"]},
                    "thread": {
                        "type": "string",
                        "description": "The time stamp (ts) of the Slack message, such as 1712345678.000100.",
                        "pattern": r"^[0-9]{1,12}\.[0-9]{1,8}$",
                    },
                    "emoji": {"type": "string", "description": "The name of a reaction.", "maxLength": 100},
                    "data": {"type": "object", "description": "A JSON object for the program that gets the message."},
                },
                "required": ["type"],
                "additionalProperties": False,
            },
            "media": {
                "type": "array",
                "description": (
                    "Paths of files of this conversation that go along: attached to an e-mail, named with a link "
                    "anywhere else."
                ),
                "items": {"type": "string", "minLength": 1, "maxLength": 1024},
                "maxItems": 5,
            },
        },
        "required": ["to", "text"],
        "additionalProperties": False,
    }
    tier = Tier.ELEVATED
    least_tier = Tier.WORKSPACE
    labels = frozenset({Label.LEAVES_TENANT, Label.READS_PRIVATE})
    destinations = ("to",)
    handles = frozenset({"messages"})
    rate = "20/m"
    transactional = True

    def tier_of(self, arguments: Mapping[str, Any], facts: CallFacts) -> Tier | None:
        """Workspace to the user's own inbox, System to a destination that they verified, else Elevated."""
        to = folded(arguments["to"])
        if to == INBOX:
            return Tier.WORKSPACE
        if facts.destinations is None:
            return None
        return Tier.SYSTEM if to in facts.destinations else Tier.ELEVATED

    def labels_of(self, arguments: Mapping[str, Any]) -> frozenset[Label]:
        """The user's own inbox is inside; only a file that goes along is read."""
        inside = frozenset[Label]() if folded(arguments["to"]) == INBOX else frozenset({Label.LEAVES_TENANT})
        return inside | {Label.READS_PRIVATE} if arguments.get("media") else inside

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output: `{"message_id", "to", "channel", "status"}`: `delivered` to the inbox, else `queued`.

        Raises ToolValidationError for what is no destination, for an operation that its channel cannot do, and for a
        file that is not there.
        """
        messages = held(ctx.messages, "messages")
        sent = await messages.send(
            to=params["to"], text=params["text"], operation=params.get("operation"), media=params.get("media", ())
        )
        reads = frozenset(sent.pop("taint"))
        words = "Message in your inbox" if sent["channel"] == INBOX else f"Message queued for {sent['to']}"
        return ToolResult(sent, words, (Artifact("message", sent["message_id"], "sent"),), reads=reads)
