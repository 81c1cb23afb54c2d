"""add_task: a new task on the user's list."""

from typing import Any, ClassVar

from tools.errors import ToolValidationError
from tools.interface import Artifact, Tier, Tool, ToolContext, ToolResult, held
from tools.labels import Label

_DEFAULT_PRIORITY = "medium"


class AddTask(Tool):
    """Add a pending task to the user's list."""

    name = "add_task"
    description = "Add a task to the user's task list. Returns the task's id."
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "What is to be done.", "minLength": 1, "maxLength": 500},
            "due_date": {
                "description": (
                    "When it is due: an ISO 8601 date (2026-03-01) or date-time (2026-03-01T10:00:00+01:00; "
                    "without an offset it is UTC), or null."
                ),
                # ISO 8601 allows a date-time without an offset, RFC 3339, which "date-time" means, does not.
                "anyOf": [
                    {"type": "string", "format": "date"},
                    {"type": "string", "format": "date-time"},
                    {"type": "string", "format": "date-time-local"},
                    {"type": "null"},
                ],
            },
            "priority": {
                "type": "string",
                "description": "How urgent it is; medium by default.",
                "enum": ["low", "medium", "high"],
            },
        },
        "required": ["title"],
        "additionalProperties": False,
    }
    tier = Tier.WORKSPACE
    labels = frozenset[Label]()
    handles = frozenset({"tasks"})
    rate = "30/m"
    transactional = True

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output: `{"task_id": uuid, "created": true}`. Raises ToolValidationError for a due date that is none."""
        tasks = held(ctx.tasks, "tasks")
        due_date = params.get("due_date")
        priority = params.get("priority", _DEFAULT_PRIORITY)
        try:
            task_id = await tasks.add(title=params["title"], due_date=due_date, priority=priority)
        except ValueError:
            raise ToolValidationError(
                '"due_date" must be an ISO 8601 date or date-time, or null.', "due_date"
            ) from None
        due = f", due {due_date}" if due_date else ""
        return ToolResult(
            {"task_id": str(task_id), "created": True},
            f"Added the task “{' '.join(params['title'].split())}” ({priority} priority{due})",
            (Artifact("task", str(task_id), "created"),),
        )
