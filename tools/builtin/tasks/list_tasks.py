"""list_tasks: what is on the user's task list."""

from typing import Any, ClassVar

from tools.interface import Tier, Tool, ToolContext, ToolResult, held
from tools.labels import Label, taken_from

_DEFAULT_LIMIT = 10


class ListTasks(Tool):
    """List the user's tasks, newest first."""

    name = "list_tasks"
    description = "List the user's tasks, newest first, each with its id, title, due date and status."
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "status": {
                "type": "string",
                "description": "Which tasks: all (the default), pending or completed.",
                "enum": ["all", "pending", "completed"],
            },
            "limit": {
                "type": "integer",
                "description": "How many tasks at most; 10 by default.",
                "minimum": 1,
                "maximum": 100,
            },
        },
        "additionalProperties": False,
    }
    tier = Tier.READ_ONLY
    labels = frozenset({Label.READS_PRIVATE})
    handles = frozenset({"tasks"})
    rate = "60/m"
    transactional = True
    idempotent = True
    parallel_safe = True

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output: `{"tasks": [{"id", "title", "due_date": ISO 8601 | null, "status"}]}`."""
        status = params.get("status", "all")
        # JSON Schema counts 10.0 as an integer, PostgreSQL's LIMIT does not.
        limit = int(params.get("limit", _DEFAULT_LIMIT))
        tasks = await held(ctx.tasks, "tasks").list(status=None if status == "all" else status, limit=limit)
        reads = taken_from(tasks)
        kind = "task" if status == "all" else f"{status} task"
        shown = f"{len(tasks) or 'No'} {kind}{'' if len(tasks) == 1 else 's'}"
        return ToolResult({"tasks": tasks}, shown, reads=reads)
