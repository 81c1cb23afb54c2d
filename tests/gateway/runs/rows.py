"""Runs, turns and calls as the view holds them, made by hand."""

import uuid
from datetime import UTC, datetime
from typing import Any

from gateway.runs.rows import Run, RunCall
from gateway.runs.view import RunView, TurnView


def run_row(**more: Any) -> Run:
    """A run in progress."""
    ids = {name: uuid.uuid4() for name in ("id", "tenant_id", "user_id", "conversation_id", "message_id")}
    return Run(**{**ids, "profile": {}, "model": "offline/demo", "surface": "", **more})


def call_row(turn: int, position: int, status: str = "proposed", **more: Any) -> RunCall:
    """A call of save_note."""
    ids = {name: uuid.uuid4() for name in ("id", "tenant_id", "user_id", "conversation_id", "message_id", "run_id")}
    return RunCall(**{
        **ids, "origin": "chat", "turn": turn, "position": position, "tool_name": "save_note", "tier": "workspace",
        "input": {"title": "a"}, "input_raw": None, "params_hash": None, "decision": [], "time_limit_ms": 30_000,
        "status": status, "created_at": datetime.now(UTC), "row_key": b"key", **more,
    })  # fmt: skip


def held_row(turn: int, position: int) -> RunCall:
    """A call of send_email that waits for a human."""
    waits = {"approval_id": uuid.uuid4(), "approval_status": "pending", "approval_used_at": None}
    expires = datetime(2027, 1, 1, tzinfo=UTC)
    return call_row(turn, position, "awaiting_approval", tool_name="send_email", approval_expires_at=expires, **waits)


def view(*turns: TurnView, **row: Any) -> RunView:
    """A run with these turns."""
    return RunView(run_row(turns=len(turns), **row), list(turns))


def turn(number: int, text: str, *calls: RunCall, attempt: int = 100) -> TurnView:
    """An answered turn."""
    return TurnView(number, attempt, [text], len(text), list(calls))
