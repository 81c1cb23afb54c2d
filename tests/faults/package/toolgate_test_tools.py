"""Tools that last long enough to be interrupted, as another package would bring them."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

from tools.errors import ToolExecutionError, ToolTimeout
from tools.interface import Tier, Tool, ToolContext, ToolResult, held
from tools.questions import InputRequired, Question

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
    labels = frozenset()
    handles = frozenset({"http"})
    rate = "100000/m"

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        async with held(ctx.http, "http").post(params["url"]) as answer:
            if answer.status == 504:
                raise ToolTimeout("The remote was late.", 0)
            if answer.status != 200:
                raise ToolExecutionError("The remote refused.")
            return ToolResult({"status": answer.status}, "done")


class SlowLookup(SlowEffect):
    """Only looks, so it may be tried again."""

    name = "slow_lookup"
    tier = Tier.READ_ONLY
    idempotent = True
    parallel_safe = True


class AskingEffect(SlowEffect):
    """Asks its user first."""

    name = "asking_effect"

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        if not ctx.answers:
            schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
            raise InputRequired((Question("ok", "Really?", schema),), {"asked": 1})
        return await super().execute(params, ctx)


class GuardedEffect(SlowEffect):
    """Waits for a human first."""

    name = "guarded_effect"
    tier = Tier.ELEVATED


class SlowNote(Tool):
    """Saves a note and dawdles before its transaction ends, or before it fails: `until` a file is there, or for
    `seconds`, or as long as a query that `asks`."""

    name = "slow_note"
    description = "Save a note, slowly."
    parameters = {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "seconds": {"type": "number"},
            "fails": {"enum": ["at once", "late"]},
            "kills": {"type": "boolean"},
            "asks": {"type": "number"},
            "until": {"type": "string"},
        },
        "required": ["title"],
        "additionalProperties": False,
    }
    tier = Tier.WORKSPACE
    labels = frozenset()
    handles = frozenset({"notes"})
    transactional = True
    rate = "100000/m"

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        note = await held(ctx.notes, "notes").save(title=params["title"], content="slow", tags=[])
        if params.get("kills"):
            os.kill(os.getpid(), signal.SIGKILL)
        connection = held(ctx.notes, "notes")._connection
        until = Path(params["until"]) if "until" in params else None
        if "asks" in params and not (until and until.exists()):
            await connection.execute("SELECT pg_sleep(%s)", [params["asks"]])
        while until and not until.exists():
            # PostgreSQL ends a transaction whose client says nothing.
            await connection.execute("SELECT 'slow_note waits'")
            await asyncio.sleep(0.1)
        await asyncio.sleep(params.get("seconds", 0))
        if params.get("fails") == "at once":
            raise ToolExecutionError("The note was refused.")
        if params.get("fails") == "late":
            raise ToolTimeout("The note was late.", 0)
        return ToolResult({"note_id": str(note)}, "saved")
