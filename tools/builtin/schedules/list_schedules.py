"""list_schedules: what the user has asked again and again."""

from typing import Any, ClassVar

from tools.interface import Tier, Tool, ToolContext, ToolResult, held
from tools.labels import Label


class ListSchedules(Tool):
    """List the user's schedules."""

    name = "list_schedules"
    description = (
        "List the user's schedules, newest first: id, when each is due (cron, time zone, next time), what is asked, "
        "and what became of it last."
    )
    parameters: ClassVar[dict[str, Any]] = {"type": "object", "properties": {}, "additionalProperties": False}
    tier = Tier.READ_ONLY
    labels = frozenset({Label.READS_PRIVATE})
    handles = frozenset({"schedules"})
    rate = "60/m"
    transactional = True
    idempotent = True
    parallel_safe = True

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output: `{"schedules": [{"schedule_id", "cron", "tz", "content", "agent", "enabled", "paused_because",
        "next_at", "last"}]}`."""
        found = await held(ctx.schedules, "schedules").list()
        count = "1 schedule" if len(found) == 1 else f"{len(found) or 'No'} schedules"
        reads = frozenset[str]().union(*(each.pop("taint") for each in found))
        return ToolResult({"schedules": found}, count, reads=reads)
