"""run_schedule: ask now what a schedule asks."""

import uuid
from typing import Any, ClassVar

from tools.errors import ToolValidationError
from tools.interface import Artifact, Tier, Tool, ToolContext, ToolResult, held

SCHEDULE_ID = {"type": "string", "description": "The schedule's id, as list_schedules returns it.", "format": "uuid"}


class RunSchedule(Tool):
    """Begin a run of one of the user's schedules."""

    name = "run_schedule"
    description = (
        "Run one of the user's schedules now, beside its times: the run begins in a conversation of its own. It is "
        "skipped while the schedule's last run is under way."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {"schedule_id": SCHEDULE_ID},
        "required": ["schedule_id"],
        "additionalProperties": False,
    }
    tier = Tier.WORKSPACE
    labels = frozenset()
    handles = frozenset({"schedules"})
    rate = "10/h"
    transactional = True

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output: `{"schedule_id", "slot_at", "status": "begun" | "skipped" | "refused", "code", "run_id", "message"}`.

        Raises ToolValidationError for an id that is no schedule's of the user.
        """
        slot = await held(ctx.schedules, "schedules").run(schedule_id(params))
        if slot["run_id"] is None:
            return ToolResult(slot, f"The schedule did not run: {slot['message']}")
        return ToolResult(slot, "Began a run of the schedule", (Artifact("run", slot["run_id"], "created"),))


def schedule_id(params: dict[str, Any]) -> uuid.UUID:
    """The id that the arguments name. Raises ToolValidationError."""
    try:
        return uuid.UUID(params["schedule_id"])
    except ValueError:
        raise no_such_schedule() from None


def no_such_schedule() -> ToolValidationError:
    """What is said of an id that is no schedule's of the user."""
    return ToolValidationError(
        "The user has no schedule with this id. list_schedules returns the ids of all.", "schedule_id"
    )
