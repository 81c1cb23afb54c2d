"""Streams of events made by hand, for what a real run does too rarely to be waited for."""

import json
from typing import Any

RUN = "00000000-0000-7000-8000-0000000000aa"
CONVERSATION = "00000000-0000-7000-8000-0000000000bb"


def event(name: str, identity: str, **data: Any) -> str:
    """One event of the run above."""
    return f"id: {identity}\nevent: {name}\ndata: {json.dumps({'run_id': RUN, **data})}\n\n"


def created() -> str:
    """A run's first event."""
    return event("run.created", "0", conversation_id=CONVERSATION, status="in_progress")


def ended(status: str, content: str = "", **more: Any) -> str:
    """A run's last event, with the whole body."""
    body = {"status": status, "content": content, "tool_calls": [], "usage": {"turns": 1}, "error": None} | more
    return event(f"run.{status}", "end", conversation_id=CONVERSATION, **body)
