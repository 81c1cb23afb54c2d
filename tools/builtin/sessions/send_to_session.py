"""send_to_session: a message to another conversation, whose answer is the call's."""

from typing import Any, ClassVar

from tools.interface import Tier, Tool, ToolContext, ToolResult, held
from tools.labels import Label
from tools.waiting import WaitsForRun


class SendToSession(Tool):
    """Begin a run in another conversation of the user's, and wait for its answer."""

    name = "send_to_session"
    description = (
        "Send a message to another conversation of the user, which goes on with it and answers. It knows what was said "
        "there, and nothing of this conversation but the message. It has no more tools than you, and takes its time "
        "from yours."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "session_id": {"type": "string", "description": "As list_sessions gives it.", "maxLength": 50},
            "message": {"type": "string", "description": "What to say there.", "minLength": 1, "maxLength": 32_000},
        },
        "required": ["session_id", "message"],
        "additionalProperties": False,
    }
    tier = Tier.WORKSPACE
    handles = frozenset({"children"})
    # What either has read flows to the other.
    labels = frozenset[Label]()
    rate = "30/m"
    transactional = True
    parallel_safe = True

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output, once the run has ended: `{"content", "run_id", "status", "incomplete_reason"}`. Raises
        ToolUnavailable, ToolPermissionDenied, ToolValidationError."""
        children = held(ctx.children, "children")
        raise WaitsForRun(await children.send(session_id=params["session_id"], message=params["message"]))
