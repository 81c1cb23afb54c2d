"""tools_search: which of the caller's tools can do something, when there are too many to show a model each."""

from typing import Any, ClassVar

from tools.interface import Tier, Tool, ToolContext, ToolResult, held
from tools.labels import Label


class ToolsSearch(Tool):
    """Find tools by words; offered in the place of tools when an agent has many."""

    name = "tools_search"
    description = (
        "Find tools that are not listed here. Returns their names, descriptions and parameters; "
        "call one of them with tools_call."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": "Words of what the tool does, or a tool's name.",
                "minLength": 1,
                "maxLength": 500,
            },
            "limit": {"type": "integer", "description": "How many at most; 5 without it.", "minimum": 1, "maximum": 20},
        },
        "required": ["query"],
        "additionalProperties": False,
    }
    tier = Tier.READ_ONLY
    labels = frozenset[Label]()
    handles = frozenset({"tools"})
    rate = "120/m"
    idempotent = True
    parallel_safe = True
    listed = False

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output: `{"tools": [{"name", "description", "tier", "parameters"?}], "more": n}`, the best first.

        `parameters` is left out where the answer would become too long; a search for the exact name has them.
        """
        tools = held(ctx.tools, "tools")
        found = await tools.search(params["query"], params.get("limit", 5))
        count = len(found["tools"])
        return ToolResult(found, f"Found {count} {'tool' if count == 1 else 'tools'} for “{params['query'][:100]}”")
