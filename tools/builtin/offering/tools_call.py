"""tools_call: a call of another tool by its name, when there are too many to show a model each.

It is never run or recorded itself: before the gates, `tools.invocation.naming` puts the tool that it names in its
place.
Only one that names no tool meets them.
"""

from typing import Any, ClassVar

from tools.errors import ToolCallRejected
from tools.interface import Tier, Tool, ToolContext, ToolResult
from tools.labels import Label


class ToolsCall(Tool):
    """Call a tool that was found with tools_search."""

    name = "tools_call"
    description = "Call a tool that tools_search has found, with arguments that fit its parameters."
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "name": {
                "type": "string",
                "description": "The tool's name, as tools_search says it.",
                "minLength": 1,
                "maxLength": 200,
                "not": {"const": "tools_call"},
            },
            "arguments": {"type": "object", "description": "The tool's arguments."},
        },
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }
    tier = Tier.READ_ONLY
    labels = frozenset[Label]()
    listed = False

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Never: a call of it is a call of the tool that it names."""
        raise ToolCallRejected("tools_call names the tool that is to be called.")
