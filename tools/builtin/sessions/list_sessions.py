"""list_sessions: the user's conversations, the last used first."""

from typing import Any, ClassVar

from tools.interface import Tier, Tool, ToolContext, ToolResult, held
from tools.labels import Label

_DEFAULT_LIMIT = 20


class ListSessions(Tool):
    """List the user's conversations."""

    name = "list_sessions"
    description = (
        "List the user's conversations, the last used first, each with its id, title, kind, labels and the status of "
        "its last run. Its kind is main, branch (from another one) or worker (a run of another one began it)."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Words of the title.", "minLength": 1, "maxLength": 200},
            "label": {"type": "string", "description": "Only those with this label.", "minLength": 1, "maxLength": 50},
            "limit": {
                "type": "integer",
                "description": "How many at most; 20 by default.",
                "minimum": 1,
                "maximum": 50,
            },
        },
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
        """Output: `{"sessions": [{"session_id", "title", "kind", "labels", "status", "updated_at"}]}`."""
        limit = int(params.get("limit", _DEFAULT_LIMIT))
        sessions = held(ctx.sessions, "sessions")
        found, reads = await sessions.find(query=params.get("query"), label=params.get("label"), limit=limit)
        count = "1 conversation" if len(found) == 1 else f"{len(found) or 'No'} conversations"
        return ToolResult({"sessions": found}, count, reads=reads)
