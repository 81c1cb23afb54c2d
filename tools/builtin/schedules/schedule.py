"""schedule: have the user's agent asked the same again and again."""

from collections.abc import Mapping
from typing import Any, ClassVar

from tools.interface import Artifact, CallFacts, Tier, Tool, ToolContext, ToolResult, held

_SHOWN = 80


class Schedule(Tool):
    """Make a schedule of the user's."""

    name = "schedule"
    description = (
        "Ask the agent the same thing again and again, at set times, in the user's name; each time in a new "
        "conversation. Returns the schedule's id and when it is due next."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "cron": {
                "type": "string",
                "description": (
                    "Minute, hour, day of the month, month and day of the week, such as '0 9 * * 1-5' for 9:00 from "
                    "Monday to Friday."
                ),
                "minLength": 1,
                "maxLength": 200,
            },
            "tz": {
                "type": "string",
                "description": "The user's time zone, such as Europe/Berlin.",
                "minLength": 1,
                "maxLength": 64,
            },
            "content": {
                "type": "string",
                "description": "What the agent is asked each time, with all that it must know.",
                "minLength": 1,
                "maxLength": 20_000,
            },
        },
        "required": ["cron", "tz", "content"],
        "additionalProperties": False,
    }
    tier = Tier.ELEVATED
    least_tier = Tier.WORKSPACE
    labels = frozenset()
    handles = frozenset({"schedules"})
    rate = "10/h"
    transactional = True

    def tier_of(self, arguments: Mapping[str, Any], facts: CallFacts) -> Tier | None:
        """Elevated where strangers' words could have written what is asked."""
        return None if facts.tainted is None else Tier.ELEVATED if facts.tainted else Tier.WORKSPACE

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output: `{"schedule_id": uuid, "next_at": ISO 8601 or null}`."""
        made = await held(ctx.schedules, "schedules").add(
            cron=params["cron"], tz=params["tz"], content=params["content"]
        )
        return ToolResult(
            made,
            f"Scheduled {shown(params['content'])} at {params['cron']} ({params['tz']})",
            (Artifact("schedule", made["schedule_id"], "created"),),
        )


def shown(content: str) -> str:
    """The beginning of what is asked, in quotes."""
    line = " ".join(content.split())
    return f"“{line if len(line) <= _SHOWN else line[:_SHOWN] + '…'}”"
