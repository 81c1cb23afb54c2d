"""create_reminder: the user is reminded at a moment."""

from datetime import datetime
from typing import Any, ClassVar

from tools.errors import ToolValidationError
from tools.interface import Artifact, Tier, Tool, ToolContext, ToolResult, held
from tools.labels import Label


class CreateReminder(Tool):
    """Remind the user of something at a moment."""

    name = "create_reminder"
    description = (
        "Remind the user of something at a moment: in their inbox, and at the destinations where they want reminders. "
        "Returns the reminder's id."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "What to remind of.", "minLength": 1, "maxLength": 2000},
            "at": {
                "type": "string",
                "description": "When: an ISO 8601 date-time with an offset, such as 2026-03-01T10:00:00+01:00.",
                "format": "date-time",
            },
        },
        "required": ["text", "at"],
        "additionalProperties": False,
    }
    tier = Tier.WORKSPACE
    labels = frozenset[Label]()
    handles = frozenset({"reminders"})
    rate = "30/m"
    transactional = True

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output: `{"reminder_id", "at"}`. Raises ToolValidationError for a moment that is past or too far away."""
        try:
            at = datetime.fromisoformat(params["at"].upper())
        except ValueError:
            raise ToolValidationError('"at" names no moment that a calendar has.', "at") from None
        reminder = await held(ctx.reminders, "reminders").add(text=params["text"], at=at)
        return ToolResult(
            {"reminder_id": reminder["id"], "at": reminder["at"]},
            f"Reminder for {reminder['shown']}",
            (Artifact("reminder", reminder["id"], "created"),),
        )
