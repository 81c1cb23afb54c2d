"""Calls as the recorder takes them."""

import uuid
from dataclasses import fields
from typing import Any

from audit.calls.proposing import NewCall, Place
from audit.calls.recorder import Failure, Outcome
from audit.calls.rows import ToolCall
from audit.canonical import sha256_hex
from audit.identifiers import uuid7
from tests.people import Person

INPUT = {"title": "Milk", "content": "Two litres"}
REFUSED = Failure("validation_error", "title is missing.", "title", "The arguments were not valid.")


def place(person: Person, turn: int = 1) -> Place:
    """A turn of a run of the person's."""
    return Place(*person.scope, uuid.uuid4(), uuid.uuid4(), uuid.uuid4(), turn)


def new_call(position: int = 0, refusal: Failure | None = None, **more: Any) -> NewCall:
    """A call of save_note that the gates let through, or refused."""
    values: dict[str, Any] = {
        "id": uuid7(), "position": position, "tool_name": "save_note", "tier": "workspace", "input": INPUT,
        "input_raw": None, "params_hash": sha256_hex(INPUT), "decision": [{"gate": "allowlist", "ok": True}],
        "time_limit_ms": 30_000, "refusal": refusal,
    }  # fmt: skip
    return NewCall(**values | more)


def as_call(row: dict[str, Any]) -> ToolCall:
    """A row of `tool_calls` as the recorder reads it."""
    return ToolCall(**{each.name: row[each.name] for each in fields(ToolCall)})


def success() -> Outcome:
    """A call that did what it should."""
    output = {"saved": True}
    return Outcome(
        output=output, output_bytes=14, output_hash=sha256_hex(output), display="Saved.",
        side_effects=[{"kind": "note", "id": "1", "action": "created"}], execution_time_ms=12,
    )  # fmt: skip
