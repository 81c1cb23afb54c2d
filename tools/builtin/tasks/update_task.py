"""update_task: another title, due date, priority or status for one of the user's tasks."""

from typing import Any, ClassVar

from tools.builtin.tasks.add_task import AddTask
from tools.builtin.tasks.complete_task import TASK_ID, no_such_task, task_id
from tools.errors import ToolValidationError
from tools.interface import Artifact, Tier, Tool, ToolContext, ToolResult, held
from tools.labels import Label, taken_from


class UpdateTask(Tool):
    """Change one of the user's tasks; what is left out stays as it is."""

    name = "update_task"
    description = (
        "Change a task on the user's task list: its title, due date, priority or status. What is left out stays; "
        "a due_date of null removes the due date."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "task_id": TASK_ID,
            "title": AddTask.parameters["properties"]["title"],
            "due_date": AddTask.parameters["properties"]["due_date"],
            "priority": {"type": "string", "description": "How urgent it is.", "enum": ["low", "medium", "high"]},
            "status": {"type": "string", "description": "Open or done.", "enum": ["pending", "completed"]},
        },
        "required": ["task_id"],
        "additionalProperties": False,
    }
    tier = Tier.WORKSPACE
    labels = frozenset({Label.READS_PRIVATE})
    handles = frozenset({"tasks"})
    rate = "30/m"
    transactional = True
    idempotent = True

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output: `{"task": {"id", "title", "due_date": ISO 8601 | null, "priority", "status"}}`.

        Raises ToolValidationError for an id that is no task's of the user, a due date that is none, or no change.
        """
        changes = {name: value for name, value in params.items() if name != "task_id"}
        if not changes:
            raise ToolValidationError("Give at least one of title, due_date, priority and status.")
        try:
            task = await held(ctx.tasks, "tasks").update(task_id(params), changes)
        except ValueError:
            raise ToolValidationError(
                '"due_date" must be an ISO 8601 date or date-time, or null.', "due_date"
            ) from None
        if task is None:
            raise no_such_task()
        reads = taken_from([task])
        return ToolResult(
            {"task": task},
            f"Changed the task “{' '.join(task['title'].split())}”",
            (Artifact("task", task["id"], "updated"),),
            reads,
        )
