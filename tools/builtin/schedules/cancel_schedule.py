"""cancel_schedule: one of the user's schedules ends."""

from typing import Any, ClassVar

from tools.builtin.schedules.run_schedule import SCHEDULE_ID, no_such_schedule, schedule_id
from tools.builtin.schedules.schedule import shown
from tools.interface import Artifact, Tier, Tool, ToolContext, ToolResult, held


class CancelSchedule(Tool):
    """Delete one of the user's schedules."""

    name = "cancel_schedule"
    description = "Delete one of the user's schedules for good. A run of it that is under way goes on."
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {"schedule_id": SCHEDULE_ID},
        "required": ["schedule_id"],
        "additionalProperties": False,
    }
    tier = Tier.WORKSPACE
    labels = frozenset()
    handles = frozenset({"schedules"})
    rate = "30/m"
    transactional = True

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output: `{"schedule_id": uuid, "cancelled": true}`.

        Raises ToolValidationError for an id that is no schedule's of the user.
        """
        named = schedule_id(params)
        gone = await held(ctx.schedules, "schedules").cancel(named)
        if gone is None:
            raise no_such_schedule()
        return ToolResult(
            {"schedule_id": str(named), "cancelled": True},
            f"Cancelled {shown(gone['content'])} at {gone['cron']} ({gone['tz']})",
            (Artifact("schedule", str(named), "deleted"),),
        )
