"""label_session: labels that conversations are found by."""

from typing import Any, ClassVar

from tools.interface import Artifact, Tier, Tool, ToolContext, ToolResult, held
from tools.labels import Label


class LabelSession(Tool):
    """Give one of the user's conversations its labels."""

    name = "label_session"
    description = (
        "Give a conversation of the user its labels, in place of those that it has; an empty list takes them away. "
        "Without session_id it is this conversation."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "session_id": {"type": "string", "description": "As list_sessions gives it.", "maxLength": 50},
            "labels": {
                "type": "array",
                "items": {"type": "string", "minLength": 1, "maxLength": 50},
                "maxItems": 10,
                "uniqueItems": True,
            },
        },
        "required": ["labels"],
        "additionalProperties": False,
    }
    tier = Tier.WORKSPACE
    # What is written there has been read here, and the handle has it flow.
    labels = frozenset[Label]()
    handles = frozenset({"sessions"})
    rate = "30/m"
    transactional = True
    idempotent = True

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output: `{"session_id", "labels"}`. Raises ToolValidationError."""
        session_id = await held(ctx.sessions, "sessions").label(params.get("session_id"), params["labels"])
        display = f"Labelled {', '.join(params['labels'])}" if params["labels"] else "Labels taken away"
        output = {"session_id": session_id, "labels": params["labels"]}
        return ToolResult(output, display, (Artifact("conversation", session_id, "labelled"),))
