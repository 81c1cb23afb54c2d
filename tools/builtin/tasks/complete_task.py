"""complete_task: one of the user's tasks is done."""

import uuid
from typing import Any, ClassVar

from tools.errors import ToolValidationError
from tools.interface import Artifact, Tier, Tool, ToolContext, ToolResult, held
from tools.labels import Label

TASK_ID = {"type": "string", "description": "The task's id, as list_tasks returns it.", "format": "uuid"}


class CompleteTask(Tool):
    """Complete one of the user's tasks."""

    name = "complete_task"
    description = "Mark a task on the user's task list as completed. list_tasks returns the tasks' ids."
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {"task_id": TASK_ID},
        "required": ["task_id"],
        "additionalProperties": False,
    }
    tier = Tier.WORKSPACE
    labels = frozenset[Label]()
    handles = frozenset({"tasks"})
    rate = "30/m"
    transactional = True
    idempotent = True

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output: `{"task_id": uuid, "completed": true}`, also for a task that was completed before.

        Raises ToolValidationError for an id that is no task's of the user.
        """
        task = await held(ctx.tasks, "tasks").update(task_id(params), {"status": "completed"})
        if task is None:
            raise no_such_task()
        return ToolResult(
            {"task_id": task["id"], "completed": True},
            f"Completed the task “{' '.join(task['title'].split())}”",
            (Artifact("task", task["id"], "completed"),),
        )


def task_id(params: dict[str, Any]) -> uuid.UUID:
    """The id that the arguments name. Raises ToolValidationError."""
    try:
        return uuid.UUID(params["task_id"])
    except ValueError:
        raise no_such_task() from None


def no_such_task() -> ToolValidationError:
    """What is said of an id that is no task's of the user."""
    return ToolValidationError("The user has no task with this id. list_tasks returns the ids of all tasks.", "task_id")
