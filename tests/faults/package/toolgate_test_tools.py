"""Tools that last long enough to be interrupted, as another package would bring them."""

import asyncio
from typing import Any

from tools.interface import Tier, Tool, ToolContext, ToolResult, held

_URL = {
    "type": "object",
    "properties": {"url": {"type": "string"}},
    "required": ["url"],
    "additionalProperties": False,
}


class SlowEffect(Tool):
    """Changes something at a remote and waits for its answer; twice would be once too often."""

    name = "slow_effect"
    description = "Change something far away."
    parameters = _URL
    tier = Tier.SYSTEM
    handles = frozenset({"http"})
    rate = "100000/m"

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        async with held(ctx.http, "http").post(params["url"]) as answer:
            return ToolResult({"status": answer.status}, "done")


class SlowLookup(SlowEffect):
    """Only looks, so it may be tried again."""

    name = "slow_lookup"
    tier = Tier.READ_ONLY
    idempotent = True
    parallel_safe = True


class SlowNote(Tool):
    """Saves a note and dawdles before its transaction ends."""

    name = "slow_note"
    description = "Save a note, slowly."
    parameters = {
        "type": "object",
        "properties": {"seconds": {"type": "number"}},
        "required": ["seconds"],
        "additionalProperties": False,
    }
    tier = Tier.WORKSPACE
    handles = frozenset({"notes"})
    transactional = True
    rate = "100000/m"

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        note = await held(ctx.notes, "notes").save(title="slow", content="slow", tags=[])
        await asyncio.sleep(params["seconds"])
        return ToolResult({"note_id": str(note)}, "saved")
