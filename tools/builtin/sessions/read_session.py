"""read_session: what was said in one of the user's conversations."""

from typing import Any, ClassVar

from tools.interface import Tier, Tool, ToolContext, ToolResult, held
from tools.labels import Label

_DEFAULT_LIMIT = 20


class ReadSession(Tool):
    """Read the newest messages of one of the user's conversations."""

    name = "read_session"
    description = (
        "Read the newest messages of one of the user's conversations, the oldest of them first. "
        "list_sessions says which there are."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "session_id": {"type": "string", "description": "As list_sessions gives it.", "maxLength": 50},
            "limit": {
                "type": "integer",
                "description": "How many messages at most; 20 by default.",
                "minimum": 1,
                "maximum": 100,
            },
        },
        "required": ["session_id"],
        "additionalProperties": False,
    }
    tier = Tier.READ_ONLY
    labels = frozenset({Label.READS_PRIVATE})
    handles = frozenset({"sessions"})
    rate = "60/m"
    transactional = True
    idempotent = True
    parallel_safe = True

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output: `{"session_id", "title", "kind", "labels", "status", "updated_at", "messages": [{"role", "content",
        "truncated", "at"}]}`; what that conversation has read counts as read. Raises ToolValidationError."""
        limit = int(params.get("limit", _DEFAULT_LIMIT))
        found, reads = await held(ctx.sessions, "sessions").read(params["session_id"], limit)
        count = len(found["messages"])
        said = "1 message" if count == 1 else f"{count or 'No'} messages"
        return ToolResult(found, f"{said} of “{found['title'] or 'Untitled'}”", reads=reads)
